"""Likely causes of a model's failures, and their remedies."""

from __future__ import annotations

import re

from holo_tasks.core.errors import HoloError, ModelFailed, UnusableReply
from holo_tasks.core.ports import Reply
from holo_tasks.models.profile import PROFILES_VARIABLE, DialectName, Profile, SchemaTransport

IN_A_PROFILE = f"in a profile of this model ({PROFILES_VARIABLE})"
NOT_HELD: dict[SchemaTransport, str] = {
    "structured_outputs": "the server ignored the schema: only newer versions of vLLM know the field "
    "structured_outputs; for llama.cpp, Ollama, LM Studio or SGLang set "
    f'schema_transport = "response_format" {IN_A_PROFILE}',
    "response_format": "the server ignored the schema, which was a response_format of type json_schema: use a server "
    "or a newer version that enforces a schema",
    "json_object": "with json_object nothing enforces the schema: if the server knows json_schema, set "
    f'schema_transport = "response_format" {IN_A_PROFILE}',
}
NOT_CALLED = (
    "the server did not pass the tools on, or did not recognize the model's call: start vLLM with "
    "--enable-auto-tool-choice and --tool-call-parser, llama.cpp with --jinja"
)
BLIND = "it may not receive pictures: serve it with its image encoder (llama.cpp: --mmproj)"
THOUGHTS = (
    "its tokens went into thoughts, most likely because the server does not pass chat_template_kwargs on, or does not "
    "recognize the model's thoughts (vLLM: --reasoning-parser)"
)
REFUSALS = (
    (re.compile(r"image|multi-?modal|vision|mmproj|content part", re.IGNORECASE), BLIND),
    (
        re.compile(r"structured_outputs|response_format|json_schema|grammar", re.IGNORECASE),
        f"set another schema_transport {IN_A_PROFILE}",
    ),
)
"""Patterns in a server's error message, with the remedy."""


def not_held(profile: Profile) -> str:
    """Return the likely cause if a reply is not just the requested JSON object."""
    return NOT_HELD[profile.schema_transport]


def of_reply(error: UnusableReply, reply: Reply, profile: Profile, dialect: DialectName) -> ModelFailed:
    """Return an error with the likely cause of an unusable reply."""
    if reply.finish_reason == "length":
        why = THOUGHTS
    elif dialect == "tools":
        other = next((name for name in profile.dialects if name != "tools"), None)
        why = NOT_CALLED + (f", or use --dialect {other}" if other else "")
    else:
        why = not_held(profile)
    return ModelFailed(f"{str(error)[:1].upper()}{str(error)[1:]}; {why}")


def of_refusal(error: HoloError, where: str) -> HoloError:
    """Return an error with a remedy if the server's message matches one of `REFUSALS`, else ``error`` itself."""
    said = str(error).replace(where, "")
    found = next((advice for pattern, advice in REFUSALS if error.http_status and pattern.search(said)), None)
    return ModelFailed(f"{str(error).rstrip('.')}; {found}") if found else error
