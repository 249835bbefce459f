"""Guards of a press: named target, repeated presses, presses with an effect.

`named_click` checks the description, `repeated_press` the unchanged screen, `press_once` the declared buttons. The
package imports `core`, `loop` and `loop.ask_model`.
"""
