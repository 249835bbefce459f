"""Communication with models: profiles, dialects, the HTTP client, and the encoding of screenshots.

The three most important modules:

* `client` sends requests to an OpenAI-compatible endpoint.
* `profile` describes a model: its dialect, limits and prices.
* `dialects` writes conversations in the format of a model family, and parses the replies.

`build_model` combines them. The package may import `core`, `machine` and `loop`.
"""
