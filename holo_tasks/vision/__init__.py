"""Find and read texts, controls, pictures and screen states in screenshots.

`state_recognizer` checks the cheap marks of a state first: windows, elements, pictures, texts, and questions to a
model last. Results are cached by frame digest and windows, except elements, because a program may report them late.
An element counts only if the pixels do not contradict it (`element_check`). `band_reader` reads only the changed
bands of a screen, which gives the same result as reading all.

Three modules matter most. `ocr_reader` reads a screenshot and reuses earlier results. `screen_text` holds the result as
a `Sight` and answers where a text is. `state_recognizer` tells which state a program's screen is in.

May import `core`, `machine` and `loop`. Other packages pass pixels in and get boxes and texts back.
"""
