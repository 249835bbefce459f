"""Likely causes of a model's failures, and their remedies."""

from __future__ import annotations

from holo_tasks.core.errors import HoloError, ModelFailed, UnusableReply
from holo_tasks.core.ports import Reply
from holo_tasks.models.profile import DialectName, Profile, SchemaTransport
from holo_tasks.models.refusals import IN_A_PROFILE, remedy

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
THOUGHTS = (
    "its tokens went into thoughts, most likely because the server does not pass chat_template_kwargs on, or does not "
    "recognize the model's thoughts (vLLM: --reasoning-parser)"
)


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
    """Return an error with a remedy if the words of the server's refusal suggest one, else ``error`` itself."""
    advice = remedy(str(error).replace(where, "")) if error.http_status not in (None, 429) else ""
    if not advice or advice in str(error):
        return error
    return ModelFailed(f"{str(error).rstrip('.')}; {advice}")
