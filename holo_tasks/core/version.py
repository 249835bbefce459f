"""The version of the library: here, and nowhere else."""

__version__ = "0.1.0"
