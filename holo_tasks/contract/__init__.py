"""What a request for a Holo model must and must not hold, rule by rule, for each dialect."""
