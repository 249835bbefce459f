"""Shows an agent's desktop to a person, in a browser, and lets them use it while they have the screen.

`view.open_live_view` opens one; `programs` says what has to be installed.
"""
