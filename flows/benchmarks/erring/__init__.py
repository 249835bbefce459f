"""Benchmark of agents whose model errs at a known rate: which errors each agent withholds, and which it misses."""
