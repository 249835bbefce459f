"""Show an agent's desktop to a person in a browser, and let them use it while they hold the screen.

`view` opens a live view and connects browsers to the VNC server. `site` serves the pages, and `access` checks tokens,
hosts and origins.

May import `core`, `machine`, `loop` and `desktop`.
"""
