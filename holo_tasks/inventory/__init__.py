"""What a machine has for an agent to work with, read without starting or opening anything."""
