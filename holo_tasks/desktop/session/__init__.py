"""One desktop as a process: the host that owns it, and the client side that sends requests.

pyautogui binds to one display per process at import. So the host is a child process that owns the X server, the
window manager, the program and the input. It communicates over a socket pair, and passes pixels through shared
memory. It ends with its parent (end of file, parent-death signal, subreaper), and all its processes end with it.

`host` is the process, `child` starts it and sends requests, `x_session` puts the parts of the desktop together. The
package imports `accessibility`, `core`, `machine`, `desktop`, `desktop.calibration`, `desktop.capture`,
`desktop.elements`, `desktop.fields`, `desktop.input`, `desktop.programs`, `desktop.remote`, `desktop.secrets`,
`desktop.stop` and `desktop.x11`.
"""
