"""Measurement of where clicks land, on a test window.

`click_window` shows the window, `click_errors` measures. The package imports `core`, `desktop.session` and
`desktop.x11`.
"""
