"""What a person does by hand on a screen becomes a trace like that of a run: its pictures, steps and answer."""
