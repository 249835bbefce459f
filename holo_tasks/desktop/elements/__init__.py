"""Accessibility trees of a desktop's programs.

Trees are read while a frame is awaited, if elements were requested lately. The last tree is updated where a program
signalled a change or X DAMAGE reported a repaint. It is read as a whole if a signal, an unknown element or many
changes leave a doubt. Chromium reports a scrolled page half a second late, so such a tree is marked as `moving`, and
the caller asks again.

`element_reader` reads them in a thread of the host process, `element_messages` encodes them. The package imports
`accessibility`, `core`, `desktop.capture`, `desktop.programs`, `desktop.secrets`, `desktop.session`, `desktop.stop`
and `desktop.x11`.
"""
