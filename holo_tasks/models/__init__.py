"""Speaking to a model: profiles as data, dialects, the client, and the encoding of pictures."""
