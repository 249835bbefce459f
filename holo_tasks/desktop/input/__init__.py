"""Mouse and keyboard of a desktop.

`gate` is the only way to the pointer and the keyboard. Before every press, key and motion it checks the kill latch,
the run's lease, the deadline, and the slip: the permit in transferable form, with the digest of the gesture, an
expiry and the program, valid once. Releases need no permission, so nothing stays pressed.

Between the presses of a double click, and before a drag continues and ends, `gesture_looks` looks for another text,
another window or a new menu. Such a change ends the gesture: presses already sent count as done, and the model learns
the omitted part. A press permitted in one program is sent while all other X clients wait, past the window manager,
which would delay it (`direct_press`). The pointer uses pyautogui. The keyboard uses XTEST and its own keyboard map,
because pyautogui drops characters that the layout lacks.

`gesture_player` carries out gestures, `gate` checks each press before it is sent, `typing` types text. The package
imports `core`, `machine`, `desktop.capture`, `desktop.fields`, `desktop.programs`, `desktop.secrets`,
`desktop.session`, `desktop.stop` and `desktop.x11`.
"""
