"""Set-of-mark prompting: numbered marks on clickable things, so that a model may choose a number.

Three modules matter most. `marker` marks a screen and turns a chosen number into a point. `marks` decides which things
get a mark. `drawing` draws the marks. `elements` finds the things on a picture.

May import `core`, `machine`, `loop` and `vision`.
"""
