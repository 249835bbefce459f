"""What the rooms above need of the system alike: folders and files that are for one user."""
