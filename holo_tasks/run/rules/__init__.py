"""Checks and settings of a run that are known before it starts.

`redactors` builds the redaction, `secret_sources` resolves secrets, `remote_screen_rules` refuses rules that a remote
screen cannot keep. The package imports `core`, `machine`, `safety` and `vision`.
"""
