"""Render traces for people: HTML pages that need no network, charts, and Markdown timelines.

`report` is the page of one run, `index` the overview of many, and `run_view` orders a trace's events for both.
"""
