"""Check requests to a Holo model against the model's contract, rule by rule, for each dialect.

Three modules matter most. `all_rules` finds the broken rules of a request. `rulebook` defines a rule, a breach and a
rule book. `wire_messages` reads the messages of a request.

`structured`, `tools`, `holotron` and `question` are the rule books of the dialects. `continuity` compares two requests
of one conversation. The rehearsal model and the tests use this package.

May import `core`, `machine` and `loop`.
"""
