"""Whether a trace is what the holder of a key wrote. Shares with the rest of `audit` the schema of events only."""
