"""`holo-tasks mcp`: the model of another program starts, follows, answers and stops runs (Model Context Protocol)."""
