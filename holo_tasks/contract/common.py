"""The rules that hold for every request in every dialect."""

from __future__ import annotations

import functools
import io
from collections.abc import Iterator

from holo_tasks.contract.rulebook import Body, RuleBook, Terms
from holo_tasks.contract.wire_messages import data_uri, image_urls, messages_of

BOOK: RuleBook[Body] = RuleBook()
HARD_IMAGE_LIMIT = 5


@BOOK.rule("01", "the request names a model and holds messages")
def _named(body: Body, _: Terms) -> Iterator[str]:
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield "no model"
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        yield "no messages"
    elif len(messages_of(body)) != len(messages):
        yield "a message is not an object"


@BOOK.rule("03", "fields for the server are at the top level, never in a literal extra_body")
def _no_extra_body(body: Body, _: Terms) -> Iterator[str]:
    if "extra_body" in body:
        yield "the OpenAI client merges extra_body; the server ignores the key"


@BOOK.rule("31", "a server takes no more than 5 images")
def _hard_images(body: Body, _: Terms) -> Iterator[str]:
    if len(images_in(body)) > HARD_IMAGE_LIMIT:
        yield f"{len(images_in(body))} images"


@BOOK.rule("34", "an image is a base64 data URI of a JPEG, PNG or WebP")
def _data_uris(body: Body, _: Terms) -> Iterator[str]:
    for url in images_in(body):
        found = data_uri(url)
        if found is None:
            yield f"{url[:40]!r} is not a base64 data URI"
        elif found[0] not in ("image/jpeg", "image/png", "image/webp"):
            yield found[0]


@BOOK.rule("35", "the MIME type of an image is that of its bytes")
def _mime(body: Body, _: Terms) -> Iterator[str]:
    for found in map(data_uri, images_in(body)):
        if found and _mime_type_of(found[1]) != found[0]:
            yield f"{found[0]}, but the bytes are {_mime_type_of(found[1]) or 'of no known kind'}"


@BOOK.rule("36", "an image can be decoded")
def _decodes(body: Body, _: Terms) -> Iterator[str]:
    yield from filter(None, (_decoding_error(found[1]) for found in map(data_uri, images_in(body)) if found))


@functools.lru_cache(maxsize=16)
def _decoding_error(image: bytes) -> str:
    """Return why an image cannot be decoded, or an empty string. Cached, because a conversation repeats its images."""
    from PIL import Image

    try:
        Image.open(io.BytesIO(image)).load()
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def no_tools(body: Body, _: Terms) -> Iterator[str]:
    """Yield each field that requests function calls."""
    yield from (key for key in ("tools", "tool_choice", "functions", "function_call") if key in body)


def images_in(body: Body) -> list[str]:
    """Return the address of every image of a request, in order."""
    return [url for message in messages_of(body) for url in image_urls(message)]


def _mime_type_of(data: bytes) -> str | None:
    """Return the MIME type of an image by its first bytes. Returns ``None`` for other formats."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None
