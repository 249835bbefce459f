"""The Prefect server that runs talk to: a temporary one, where none is configured, and local-only mode."""
