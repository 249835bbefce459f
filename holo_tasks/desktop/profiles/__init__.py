"""Profiles of their own for programs on a desktop, so that they do not pass their document to a running instance.

The most important modules:

* `profile` creates, locks, repairs and cleans up the profile of a program.
* `programs` is the table of the programs that need one.
* `profile_setting` reads the setting ``profiles`` of a desktop.
"""
