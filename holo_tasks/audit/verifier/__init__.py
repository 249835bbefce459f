"""Verify that a trace is complete and was written by the holder of a key.

`verify` is the check, `bundle` reads the files of a trace, and `heads` reads the anchored heads. `public_key` checks
signatures. Of the rest of `audit`, only errors and, for buckets, `s3` and `stores` are imported.
"""
