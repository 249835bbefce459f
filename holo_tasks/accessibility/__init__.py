"""Read the accessibility trees (AT-SPI) of the programs on a desktop, over a D-Bus of the desktop's own.

Every virtual desktop has its own message bus (`bus`). Its services are AT-SPI's registry and `announcement`. Programs
reach no other bus. A program of another user gets its own socket to it. A tree is read whole from the program's cache,
or else element by element, over a connection that limits the amount of data.

A tree is untrusted text. Names are cleaned, password fields are never read, and boxes count only where the X server
has a window of the same process. The tree is never used to act on a program.

Three modules matter most. `bus` starts the bus. `reader` reads the trees of all programs, and waits up
to 8 s for one that goes on answering. `application` reads and updates the tree of one program, and `placement` finds
its elements on the screen.

May import `core` and `machine`. The process that owns a desktop uses it.
"""
