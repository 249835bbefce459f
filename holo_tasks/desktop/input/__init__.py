"""Mouse and keyboard of a desktop.

`gesture_player` carries out gestures, `gate` checks each press before it is sent, `typing` types text. The package
imports `core`, `machine`, `desktop.capture`, `desktop.fields`, `desktop.programs`, `desktop.secrets`,
`desktop.session`, `desktop.stop` and `desktop.x11`.
"""
