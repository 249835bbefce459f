"""The version of the library. No other file states it."""

__version__ = "0.2.0"
