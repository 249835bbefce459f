"""A person in the loop: they are given the screen, and the run waits, or is suspended until they have answered."""
