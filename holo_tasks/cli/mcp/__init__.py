"""`holo-tasks mcp`: a server of the Model Context Protocol, by which another program starts and stops runs.

`tools` has the tools of the server. `processes` keeps each run as a process. `client_permissions` has the options of
the server.
"""
