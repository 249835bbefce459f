"""Pictures of a screen that has settled, and the repaints on it.

A screen has settled when no repaint came for 50 ms after the program's answer to a ping, or for 150 ms if it cannot
be pinged. The wait is shorter if `desktop.programs.sleeping_clients` shows that no client can draw until then. It is
longer while `desktop.readiness` reports work in flight, at most for the patience.

Before the first event of a gesture, and before the pointer moves, the rows around its target are captured again and
compared with the frame of the decision (`core.screen.recheck`): 24 px around the point, the row as wide as its
window, the window at the point, and the one with the keyboard. For keys the changed part of their window counts too.
A difference raises `ScreenChanged` before any press, and the model gets a new frame.

Areas that repaint by themselves are left out. `repaint_watch` learns an area from four repaints at one pace, inside
one box, while no input was sent. A press waits up to 3 s for a missing repaint of these, and up to 1.5 s for a caret.
On a borrowed display `repaint_memory` saves the learned areas for the next process, which then needs one matching
repaint.

`settled_screen` waits and takes the picture, `settle` decides when the screen has settled, `recent_frames` compares
the screen with earlier pictures.
"""
