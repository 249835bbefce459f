"""Find and read texts, controls, pictures and screen states in screenshots.

Three modules matter most. `ocr_reader` reads a screenshot and reuses earlier results. `screen_text` holds the result as
a `Sight` and answers where a text is. `state_recognizer` tells which state a program's screen is in.

This package may import core, machine and loop. Other packages pass pixels in and get boxes and texts back.
"""
