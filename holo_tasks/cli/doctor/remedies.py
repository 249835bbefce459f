"""What the trouble with a model most likely means, and what to do about it."""

from __future__ import annotations

import re

from holo_tasks.core.errors import HoloError, ModelFailed, UnusableReply
from holo_tasks.core.ports import Reply
from holo_tasks.models.profile import PROFILES_VARIABLE, DialectName, Profile, SchemaTransport

IN_A_PROFILE = f"in a profile of this model ({PROFILES_VARIABLE})"
NOT_HELD: dict[SchemaTransport, str] = {
    "structured_outputs": "the server ignored the schema: structured_outputs is a field that only vLLM knows, and no "
    "old one; for llama.cpp, Ollama, LM Studio or SGLang set "
    f'schema_transport = "response_format" {IN_A_PROFILE}',
    "response_format": "the server ignored the schema, which was a response_format of type json_schema: use a server, "
    "or a newer version of it, that holds a model to one",
    "json_object": "nothing holds the model to a schema with json_object: if the server knows json_schema, set "
    f'schema_transport = "response_format" {IN_A_PROFILE}',
}
NOT_CALLED = (
    "the server did not hand the tools on, or did not see that the model called one: start vLLM with "
    "--enable-auto-tool-choice and --tool-call-parser, llama.cpp with --jinja"
)
BLIND = "it may not get to see pictures: serve it with its image encoder (llama.cpp: --mmproj)"
THOUGHTS = (
    "its tokens went into thoughts, most likely because the server does not pass chat_template_kwargs on, or does not "
    "know the model's thoughts for what they are (vLLM: --reasoning-parser)"
)
REFUSALS = (
    (re.compile(r"image|multi-?modal|vision|mmproj|content part", re.IGNORECASE), BLIND),
    (
        re.compile(r"structured_outputs|response_format|json_schema|grammar", re.IGNORECASE),
        f"set another schema_transport {IN_A_PROFILE}",
    ),
)
"""What a server refuses, by its words."""


def not_held(profile: Profile) -> str:
    """Say what it means that a reply is not the bare object that was asked for."""
    return NOT_HELD[profile.schema_transport]


def of_reply(error: UnusableReply, reply: Reply, profile: Profile, dialect: DialectName) -> ModelFailed:
    """Say what it means that a reply cannot be used."""
    if reply.finish_reason == "length":
        why = THOUGHTS
    elif dialect == "tools":
        other = next((name for name in profile.dialects if name != "tools"), None)
        why = NOT_CALLED + (f", or use --dialect {other}" if other else "")
    else:
        why = not_held(profile)
    return ModelFailed(f"{str(error)[:1].upper()}{str(error)[1:]}; {why}")


def of_refusal(error: HoloError, where: str) -> HoloError:
    """Say what it means that a server refused a request, if its words tell."""
    said = str(error).replace(where, "")
    found = next((advice for pattern, advice in REFUSALS if error.http_status and pattern.search(said)), None)
    return ModelFailed(f"{str(error).rstrip('.')}; {found}") if found else error
