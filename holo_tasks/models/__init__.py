"""Communication with models: profiles, dialects, the HTTP client, and the encoding of screenshots.

The prefix of a prompt stays the same from call to call, for the server's cache: the system message is made once, the
history only grows, images leave in batches (`evict_batch`), and a correction stands last. `client` makes one attempt
and classifies the error. `breaker` pauses all conversations with an endpoint that keeps failing or asks for a pause.
Prefect retries transient faults (`agent.agent_step`). Questions outside a conversation are one user message with
pictures first, and a JSON schema.

The three most important modules:

* `client` sends requests to an OpenAI-compatible endpoint.
* `profile` describes a model: its dialect, limits and prices.
* `dialects` writes conversations in the format of a model family, and parses the replies.

`build_model` combines them. May import `core`, `machine` and `loop`.
"""
