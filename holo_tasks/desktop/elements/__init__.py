"""Accessibility trees of a desktop's programs.

`element_reader` reads them in a thread of the host process, `element_messages` encodes them. The package imports
`accessibility`, `core`, `desktop.capture`, `desktop.programs`, `desktop.secrets`, `desktop.session`, `desktop.stop`
and `desktop.x11`.
"""
