"""Define the values and decisions that all other packages share.

Three modules matter most. `actions` holds the calls that a model may make. `frame` holds screenshots, their masks and
the pictures that are sent. `ports` holds the protocols that the outer packages implement.

Modules here use no Prefect, network, display or clock. Only `paths`, `programs` and `secret` look up paths in the file
system. This package may import only itself; all other packages may import it.
"""
