"""Secrets, one-time codes, and their removal from texts.

`secret` has the secrets, `scrub` removes their values from texts, `totp` computes one-time codes. The package imports
`core`.
"""
