"""Nine programs with one known hazard each, for tests and benchmarks of agents. Standard library only."""

from pathlib import Path

PROGRAM = Path(__file__).with_name("program.py")
"""The script that starts each program, in a Python that has Tk."""
