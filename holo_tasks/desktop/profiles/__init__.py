"""Private profiles: an instance with its own profile never hands its document to another instance."""
