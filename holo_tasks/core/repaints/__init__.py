"""Regions of a screen that repaint themselves, such as a clock or a caret.

For a press, a self-repainting area is ignored only if it lies on a sheet right of the target's, with bare ground
between (`core.screen.separate_panels`), and cannot be a cell of the target's rows (`core.screen.row_alignment`). For
keys it has to be a small part of their window. An area whose ink occupies other columns than in the frame
(`repaint_shapes`) must repaint once more.

`repaint_rhythm` learns them, `repaint_exemptions` chooses those that a comparison may ignore, and `known_repaints`
hands them to the next process. The package imports `core.screen`.
"""
