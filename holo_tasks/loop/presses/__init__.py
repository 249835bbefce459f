"""Guards of a press: named target, repeated presses, presses with an effect.

`named_click` withholds a press whose description is exactly the name of one control while its point lies on another.
`repeated_press` handles the same press on an unchanged screen: it waits and looks again, then lets the press through,
asks for a new decision, refuses once, or gives up. `press_once` allows a declared button one press per sub-goal;
after that it asks the sub-goal's probe. Where a text cannot be read, a press counts as one of any declared button.

`named_click` checks the description, `repeated_press` the unchanged screen, `press_once` the declared buttons. The
package imports `core`, `loop` and `loop.ask_model`.
"""
