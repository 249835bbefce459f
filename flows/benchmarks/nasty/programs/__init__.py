"""Nine programs, each nasty in one known way, for tests and benchmarks of agents. Standard library only."""

from pathlib import Path

PROGRAM = Path(__file__).with_name("program.py")
"""What starts any of them, in a Python that has Tk."""
