"""What tests share: servers and helpers that are real where it matters."""
