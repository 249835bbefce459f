"""The engine of one sub-goal: the doors of the walk, the loop over them, and what guards a step."""
