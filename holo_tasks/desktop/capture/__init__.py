"""Pictures of a screen that has settled, and the repaints on it.

`settled_screen` waits and takes the picture, `settle` decides when the screen has settled, `recent_frames` compares
the screen with earlier pictures. The package imports `core`, `machine`, `desktop`, `desktop.input`,
`desktop.programs`, `desktop.stop` and `desktop.x11`.
"""
