"""What programs tell of their own user interface: a message bus of a desktop's own, and the AT-SPI tree read over it.

`bus` starts the bus, `reader` reads trees within a time, `application` one program's, `placement` says where on the
screen that is. It is used by the process that owns a desktop.
"""
