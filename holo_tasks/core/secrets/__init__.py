"""Secrets, one-time codes, and their removal from texts.

`scrub` knows every encoding of a value, and replaces it in texts only. It is applied to the model's messages and to
all fields of all events (`safety.scrubbed_model`), to texts in the shared database, results, logs, names and errors.
A value that the model writes itself becomes its placeholder, and is then typed by name under its binding.

`secret` has the secrets, `scrub` removes their values from texts, `totp` computes one-time codes. The package imports
`core`.
"""
