"""Traces as people read them: pages without a network, charts, timelines."""
