"""Define the values and decisions that all other packages share.

Three modules matter most. `prompts.tool_calls` holds the calls that a model may make. `screen.frame` holds screenshots,
their masks and the pictures that are sent. `ports` holds the protocols that the outer packages implement.

Modules here use no Prefect, network, display or clock. Only `paths`, `programs` and `secrets.secret` look up paths in
the file system. May import no other package.
"""
