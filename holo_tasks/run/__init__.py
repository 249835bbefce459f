"""What is around a user's code: the run, its sub-goals, limits and journal, and what is told and kept of it."""
