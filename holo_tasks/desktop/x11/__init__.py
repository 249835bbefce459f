"""The X server: starting it, connections to it, its windows, monitors, keyboard map, grabs and clipboard.

GLX takes an X server 50 MB and cannot be added later. So a desktop for a program starts without it, unless library
names in the program show that it will request it (`opengl`). `glx_requests` notices a request through X RECORD. If it
comes before the first window has settled, the host ends and `desktop.desktop` starts another one with GLX; no input
was sent until then. A later request is reported with the next frame.

`x_server` starts Xvfb, `x_connection` sends requests, `windows` lists windows. The package imports `core`, `desktop`,
`desktop.capture`, `desktop.programs` and `desktop.stop`.
"""
