"""The version of the library: here, and nowhere else."""

__version__ = "0.2.0"
