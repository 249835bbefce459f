"""Hostile programs as a suite: the hazard of each is known, and its store records all effects."""
