"""Pure values and decisions: no Prefect, network, display, clock or file is touched here."""
