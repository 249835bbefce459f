"""Write a vision model of two megabytes: two GGUF files with random weights.

The model has the architecture of Qwen3-VL: a text model of 2 layers and a vision encoder of 1, both 64 wide. A byte is
a token, and the chat template is the one in the folder; `build_llama_server.sh` puts Qwen's own there. A server loads
it like a real model, renders the messages, decodes the pictures and puts them into the prompt, 1 token per 32 x 32
pixels.

The model is not trained: it understands nothing and its words are babble. A few tokens are likelier than the rest, so
that thoughts, strings and replies end. Only the server's grammar makes a reply fit its schema.

The weights come from a fixed seed, so the files are the same everywhere. Needs the gguf package.

    python tiny_vision_model.py FOLDER
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray

TEXT_MODEL = "tiny.gguf"
VISION_ENCODER = "tiny-mmproj.gguf"
CHAT_TEMPLATE = "chat_template.jinja"

Weights = NDArray[np.float32]

CONTROL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>")
TAGS = ("<think>", "</think>", "<tool_call>", "</tool_call>")
ENDS = ("\n</parameter>\n", "</function>\n")
"""Text that ends a part of a tool call. Random weights would hardly ever write it byte by byte."""

LIKELY = {"<|im_end|>": 10.0, **dict.fromkeys(ENDS, 9.0), '"': 6.0, "}": 6.0, "]": 6.0}
"""Added to a token's logit at every position."""
FOLLOWS = {"\n": ("</think>", 24.0), "</think>": ("<tool_call>", 24.0)}
"""Added to a token's logit after another token: thoughts are empty, and the model calls a tool whenever it may."""

CARRIED = 8.0
"""Weight of the first dimensions of the embedding, which carry LIKELY and FOLLOWS to the output."""


@dataclass(frozen=True)
class Shape:
    """How large a transformer is."""

    layers: int
    width: int = 64
    heads: int = 4
    inner: int = 128

    @property
    def head(self) -> int:
        return self.width // self.heads


TEXT = Shape(layers=2)
VISION = Shape(layers=1)
KEY_VALUE_HEADS = 2
CONTEXT_TOKENS = 65_536
ROPE_SECTIONS = (4, 2, 2, 0)
"""Parts of half a head for a position's time, row and column; the last is not used."""
PATCH, IMAGE, MERGE = 16, 768, 2
"""Pixels of a patch, pixels covered by the position table, patches per side merged into a token."""


class Dice:
    """Draws weights, always the same ones."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def matrix(self, *shape: int, scale: float = 0.02) -> Weights:
        return (self._random.standard_normal(shape) * scale).astype(np.float32)


def write(folder: Path) -> None:
    """Write both files; the chat template must be in the folder."""
    write_text_model(folder / TEXT_MODEL, (folder / CHAT_TEMPLATE).read_text(encoding="utf-8"))
    write_vision_encoder(folder / VISION_ENCODER)


def write_text_model(path: Path, chat_template: str) -> None:
    """Write the model that reads and writes tokens."""
    tokens = vocabulary()
    writer = gguf.GGUFWriter(path, "qwen3vl")
    writer.add_name("Tiny random weights")
    writer.add_context_length(CONTEXT_TOKENS)
    writer.add_embedding_length(TEXT.width)
    writer.add_block_count(TEXT.layers)
    writer.add_feed_forward_length(TEXT.inner)
    writer.add_head_count(TEXT.heads)
    writer.add_head_count_kv(KEY_VALUE_HEADS)
    writer.add_key_length(TEXT.head)
    writer.add_value_length(TEXT.head)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(10_000.0)
    writer.add_rope_dimension_sections(list(ROPE_SECTIONS))

    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list([token.stored for token in tokens])
    writer.add_token_types([token.kind for token in tokens])
    # The format wants a merge; this one never applies, so a text is read byte by byte.
    writer.add_token_merges([" ".join(stored(text) for text in ENDS)])
    places = {token.text: place for place, token in enumerate(tokens)}
    writer.add_eos_token_id(places["<|im_end|>"])
    writer.add_pad_token_id(places["<|endoftext|>"])
    writer.add_add_bos_token(False)
    writer.add_chat_template(chat_template)

    for name, weights in text_weights(places).items():
        writer.add_tensor(name, weights)
    _finish(writer)


def write_vision_encoder(path: Path) -> None:
    """Write the model that turns pictures into embeddings."""
    writer = gguf.GGUFWriter(path, "clip")
    writer.add_name("Tiny random weights, vision")
    writer.add_clip_has_vision_encoder(True)
    writer.add_clip_projector_type("qwen3vl_merger")
    writer.add_vision_embedding_length(VISION.width)
    writer.add_vision_feed_forward_length(VISION.inner)
    writer.add_vision_block_count(VISION.layers)
    writer.add_vision_head_count(VISION.heads)
    writer.add_vision_projection_dim(TEXT.width)
    writer.add_vision_attention_layernorm_eps(1e-6)
    writer.add_vision_patch_size(PATCH)
    writer.add_vision_image_size(IMAGE)
    writer.add_vision_spatial_merge_size(MERGE)
    writer.add_vision_image_mean([0.5, 0.5, 0.5])
    writer.add_vision_image_std([0.5, 0.5, 0.5])
    writer.add_vision_use_gelu(True)
    for name, weights in vision_weights().items():
        writer.add_tensor(name, weights)
    _finish(writer)


@dataclass(frozen=True)
class Token:
    """One entry of the vocabulary."""

    text: str
    stored: str
    kind: gguf.TokenType


def vocabulary() -> list[Token]:
    """Return one token per byte, then the few that have a meaning."""
    # A byte's text only matters if the byte is a whole character.
    tokens = [Token(chr(byte), stored_byte, gguf.TokenType.NORMAL) for byte, stored_byte in enumerate(_spelling())]
    tokens += [Token(text, stored(text), gguf.TokenType.NORMAL) for text in ENDS]
    tokens += [Token(text, text, gguf.TokenType.CONTROL) for text in CONTROL]
    tokens += [Token(text, text, gguf.TokenType.USER_DEFINED) for text in TAGS]
    return tokens


def stored(text: str) -> str:
    """Spell a text as a byte-level vocabulary does."""
    spelling = _spelling()
    return "".join(spelling[byte] for byte in text.encode())


def _spelling() -> list[str]:
    """Return a printable character for each byte: GPT-2's table, in which Qwen's vocabulary is written too."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(256, 512))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


def text_weights(places: dict[str, int]) -> dict[str, Weights]:
    """Return the text model's tensors."""
    dice, shape = Dice(seed=1), TEXT
    embedding = dice.matrix(len(places), shape.width, scale=1.0)
    output = dice.matrix(len(places), shape.width, scale=0.2)
    carriers = 1 + len(FOLLOWS)
    embedding[:, 0], embedding[:, 1:carriers], output[:, :carriers] = CARRIED, 0, 0
    # The last norm divides by the root mean square: about this value remains.
    left = CARRIED / np.sqrt(1 + CARRIED**2 / shape.width)
    for text, more in LIKELY.items():
        output[places[text], 0] = more / left
    for carrier, (before, (after, more)) in enumerate(FOLLOWS.items(), start=1):
        embedding[places[before], carrier] = CARRIED
        output[places[after], carrier] = more / left

    heads, shared = shape.heads * shape.head, KEY_VALUE_HEADS * shape.head
    tensors = {"token_embd.weight": embedding, "output.weight": output, "output_norm.weight": _ones(shape.width)}
    for layer in range(shape.layers):
        block = f"blk.{layer}"
        tensors |= {
            f"{block}.attn_norm.weight": _ones(shape.width),
            f"{block}.attn_q.weight": dice.matrix(heads, shape.width),
            f"{block}.attn_k.weight": dice.matrix(shared, shape.width),
            f"{block}.attn_v.weight": dice.matrix(shared, shape.width),
            f"{block}.attn_q_norm.weight": _ones(shape.head),
            f"{block}.attn_k_norm.weight": _ones(shape.head),
            f"{block}.attn_output.weight": dice.matrix(shape.width, heads),
            f"{block}.ffn_norm.weight": _ones(shape.width),
            f"{block}.ffn_gate.weight": dice.matrix(shape.inner, shape.width),
            f"{block}.ffn_up.weight": dice.matrix(shape.inner, shape.width),
            f"{block}.ffn_down.weight": dice.matrix(shape.width, shape.inner),
        }
    return tensors


def vision_weights() -> dict[str, Weights]:
    """Return the vision encoder's tensors."""
    dice, shape = Dice(seed=2), VISION
    merged = shape.width * MERGE**2
    # Two frames share a patch, for films; a still picture goes through both.
    tensors = {
        "v.patch_embd.weight": dice.matrix(shape.width, 3, PATCH, PATCH),
        "v.patch_embd.weight.1": dice.matrix(shape.width, 3, PATCH, PATCH),
        "v.patch_embd.bias": _zeros(shape.width),
        "v.position_embd.weight": dice.matrix((IMAGE // PATCH) ** 2, shape.width),
        **_norm("v.post_ln", shape.width),
        **_linear(dice, "mm.0", merged, merged),
        **_linear(dice, "mm.2", merged, TEXT.width),
    }
    for layer in range(shape.layers):
        block = f"v.blk.{layer}"
        tensors |= {
            **_norm(f"{block}.ln1", shape.width),
            **_linear(dice, f"{block}.attn_qkv", shape.width, 3 * shape.width),
            **_linear(dice, f"{block}.attn_out", shape.width, shape.width),
            **_norm(f"{block}.ln2", shape.width),
            **_linear(dice, f"{block}.ffn_up", shape.width, shape.inner),
            **_linear(dice, f"{block}.ffn_down", shape.inner, shape.width),
        }
    return tensors


def _linear(dice: Dice, name: str, width: int, out: int) -> dict[str, Weights]:
    return {f"{name}.weight": dice.matrix(out, width), f"{name}.bias": _zeros(out)}


def _norm(name: str, width: int) -> dict[str, Weights]:
    return {f"{name}.weight": _ones(width), f"{name}.bias": _zeros(width)}


def _ones(width: int) -> Weights:
    return np.ones(width, dtype=np.float32)


def _zeros(width: int) -> Weights:
    return np.zeros(width, dtype=np.float32)


def _finish(writer: gguf.GGUFWriter) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    write(Path(sys.argv[1]))
