"""Regions of a screen that repaint themselves, such as a clock or a caret.

`repaint_rhythm` learns them, `repaint_exemptions` chooses those that a comparison may ignore, and `known_repaints`
hands them to the next process. The package imports `core.screen`.
"""
