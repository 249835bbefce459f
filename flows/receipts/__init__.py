"""What a letter says of a purchase: the domain of the expense audit, read without guessing."""
