"""Nasty programs as a suite: what any of them does to an agent is known, and a store tells what came of it."""
