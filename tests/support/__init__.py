"""Shared test helpers: real servers, programs and processes where possible, in-memory stand-ins elsewhere."""
