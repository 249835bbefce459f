"""The rehearsal model: a local server that plays a playbook over the protocol of a Holo model.

It is not a language model.

Three modules matter most. `server` answers HTTP requests. `conversations` remembers requests, to check the next ones.
`reply` writes a step of the playbook in the form of the dialect.

`point_finder` answers questions for a point. May import `core`, `machine`, `loop`, `vision`, `set_of_mark`, `contract`
and `scripts`.
"""
