"""Read the accessibility trees (AT-SPI) of the programs on a desktop, over a D-Bus of the desktop's own.

Three modules matter most. `bus` starts the bus. `reader` reads the trees of all programs within a time limit.
`application` reads and updates the tree of one program, and `placement` finds its elements on the screen.

This package may import core. The process that owns a desktop uses it.
"""
