"""Profiles of the programs on a desktop: an instance with a profile of its own hands its document to no other one."""
