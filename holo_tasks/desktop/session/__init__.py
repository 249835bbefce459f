"""One desktop as a process: the host that owns it, and the client side that sends requests.

`host` is the process, `child` starts it and sends requests, `x_session` puts the parts of the desktop together. The
package imports `accessibility`, `core`, `machine`, `desktop`, `desktop.calibration`, `desktop.capture`,
`desktop.elements`, `desktop.fields`, `desktop.input`, `desktop.programs`, `desktop.remote`, `desktop.secrets`,
`desktop.stop` and `desktop.x11`.
"""
