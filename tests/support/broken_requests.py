"""For every rule on a single request: requests that break it, and only the rules that necessarily go with it."""

from __future__ import annotations

from dataclasses import replace

from holo_tasks.contract.rulebook import Dialect, Terms
from tests.support.breakers import (
    FOUR,
    Breaker,
    Row,
    both,
    change,
    image_in_a_result,
    images,
    insert,
    on_call,
    on_schema,
    on_step,
    on_tool,
    on_url,
    show,
    with_arguments,
    words,
)
from tests.support.handmade import GONE, TERMS, Talk, picture, text, turns, user

LONG = "word " * 60_000
NOTE = {"role": "user", "content": '<error tool="click">\nNo.\n</error>'}
STRAY = user("By the way.")
SIX = Talk(turns(6))
STRIP = Talk(turns(4), strips=frozenset({4}))
LAST = Talk(turns(4), final=True)
BY_SCHEMA = Terms(dialect="holotron")
KEEPING = replace(TERMS["tools"], preserve_thinking=True)
KEPT = Talk(turns(4), more={"chat_template_kwargs": {"enable_thinking": True, "preserve_thinking": True}})
STATE = {
    "type": "object",
    "properties": {"state": {"type": "string"}},
    "required": ["state"],
    "additionalProperties": False,
}
THOUGHT_ABOUT = both(
    change("structured_outputs", {"json": STATE}), change("chat_template_kwargs", {"enable_thinking": True})
)


def common(letter: str, dialect: Dialect) -> list[Row]:
    """Return the rows of the rules that every dialect has."""
    none = {"S": "S10 S12 S20 S26", "T": "T10 T20 T26", "H": "H10 H12 H21 H22 H23", "L": "L10"}[letter]
    over = {"S": "S30", "T": "T30", "H": "H21", "L": ""}[letter]
    many = show(6) if letter in "ST" else images(6)
    return [
        Row(f"{letter}01", dialect, change("model", "")),
        Row(f"{letter}01", dialect, change("messages", []), also=none),
        Row(f"{letter}03", dialect, change("extra_body", {"top_k": 1}), also="W13"),
        Row(f"{letter}31", dialect, many, also=over, talk=SIX),
        Row(f"{letter}34", dialect, on_url(lambda _: "https://example.org/screen.png")),
        Row(f"{letter}34", dialect, on_url(lambda url: "data:image/gif" + url[url.index(";") :]), also=f"{letter}35"),
        Row(f"{letter}35", dialect, on_url(lambda url: "data:image/webp" + url[url.index(";") :])),
        Row(f"{letter}36", dialect, on_url(lambda url: url[: len(url) * 2 // 3 // 4 * 4 + url.index(",") % 4 + 1])),
    ]


def chat(letter: str, dialect: Dialect) -> list[Row]:
    """Return the rows of the rules that both dialects with a history have."""

    def row(number: str, breaker: Breaker, also: str = "", talk: Talk = FOUR) -> Row:
        return Row(f"{letter}{number}", dialect, breaker, " ".join(f"{letter}{n}" for n in also.split()), talk)

    is_s = letter == "S"
    return [
        row("10", insert(3, {"role": "system", "content": "Also."}), "21"),
        row("10", change("messages.0", ...), "12 20 21" if is_s else "20 21"),
        row("11", change("messages.0.content", []), "12" if is_s else ""),
        row("20", change("messages.1", ...), "21"),
        row("20", change("messages.1.content", " ")),
        row("21", change("messages.3", ...), "" if is_s else "37"),
        row("21", insert(3, user([text("<observation>\n"), text(GONE), text("\n</observation>")]))),
        row("22", change("messages.-1.content.0.text", "<observation>")),
        row("22", lambda b: b["messages"][-1]["content"].insert(1, text("Look:"))),
        row("22", change("messages.2.content", "<observation>\n[gone]\n</observation>")),
        row("22", change("messages.2.content.1", text(" "))),
        row("22", change("messages.-1.content.1", text("")), talk=STRIP),
        row("26", lambda b: b["messages"].pop()),
        row("26", change("messages.-1.content.1", text(GONE)), "32"),
        row("26", change("messages.-1.content.4", text(GONE)), "32", STRIP),
        row("26", change("messages.-1.content.-1", text("\n</observation>\n")), "22"),
        row("27", insert(5, NOTE)),
        row("27", both(insert(14, NOTE), insert(14, NOTE))),
        row("30", show(4)),
        row("32", both(show(4), change("messages.8.content.1", text(GONE)))),
        row(
            "32",
            both(change("messages.8.content.1", picture(2)), change("messages.-1.content.2", text(GONE))),
            "",
            STRIP,
        ),
        row("33", image_in_a_result, "21 22 32" if is_s else "38"),
        row("40", change("messages.3.reasoning_content", "Hm.")),
        row("40", change("messages.3.reasoning", None)),
        row("41", change("temperature", 0)),
        row("41", change("temperature", ...)),
        row("42", change("chat_template_kwargs", {"enable_thinking": False})),
        row("42", change("reasoning_effort", "none")),
        row("42", both(change("chat_template_kwargs", ...), change("reasoning_effort", ...))),
    ]


STRUCTURED = [
    Row("S02", "structured", change("tools", [])),
    Row("S02", "structured", change("tool_choice", "auto")),
    Row("S04", "structured", change("structured_outputs", ...), also="S05 S06 S07 S08 S12"),
    Row("S04", "structured", change("guided_json", {}), also="W13"),
    Row("S04", "structured", change("response_format", {"type": "json_object"})),
    Row("S05", "structured", on_schema(lambda s: s["properties"].pop("note"))),
    Row("S05", "structured", on_schema(lambda s: s["required"].remove("thought"))),
    Row("S06", "structured", on_schema(lambda s: s["$defs"]["click"]["properties"]["tool_name"].pop("const"))),
    Row("S06", "structured", on_schema(lambda s: s["$defs"]["click"]["required"].remove("tool_name"))),
    Row("S07", "structured", on_schema(lambda s: s["$defs"]["click"].pop("additionalProperties"))),
    Row("S07", "structured", on_schema(lambda s: s.update(additionalProperties=True))),
    Row(
        "S08", "structured", on_schema(lambda s: s["$defs"]["answer"]["properties"]["tool_name"].update(const="reply"))
    ),
    Row(
        "S09",
        "structured",
        on_schema(lambda s: s["$defs"]["ask_human"]["properties"]["tool_name"].update(const="ask_human_desktop")),
    ),
    Row("S12", "structured", change("messages.0.content", "No format here.")),
    Row("S12", "structured", change("messages.0.content", "<output_format>\n```json\n{}\n```\n</output_format>")),
    Row("S12", "structured", change("messages.0.content", "<output_format>\n```json\n{,}\n```\n</output_format>")),
    Row("S23", "structured", on_step(tool_call="click")),
    Row("S23", "structured", on_step(mood="good")),
    Row("S23", "structured", on_step(tool_call={"tool_name": "click", "arguments": {"x": 1}})),
    Row("S23", "structured", change("messages.3.content", "I will click.")),
    Row("S23", "structured", change("messages.3.tool_calls", [])),
    Row("S24", "structured", change("messages.4.content", "Clicked.")),
    Row("S24", "structured", change("messages.4.content", '<tool_output tool="click">Clicked.</tool_output>')),
    Row("S25", "structured", change("messages.4.content", '<tool_output tool="write">\nWrote.\n</tool_output>')),
    Row("S40", "structured", on_step(thought="<think>Hm.</think> Yes.")),
]

TOOLS = [
    Row("T02", "tools", change("tools", []), also="T08 T28"),
    Row("T02", "tools", on_tool(lambda f: f.pop("description"))),
    Row("T02", "tools", change("tools.2.type", "tool")),
    Row("T04", "tools", change("structured_outputs", {"json": {}})),
    Row("T04", "tools", change("response_format", {"type": "json_object"})),
    Row("T04", "tools", change("functions", []), also="W13"),
    Row("T05", "tools", on_tool(lambda f: f["parameters"].pop("additionalProperties"))),
    Row("T05", "tools", change("tools.2.function.parameters", {"type": "array"})),
    Row("T05", "tools", change("tools.2.function.parameters.required", ["seconds", "minutes"])),
    Row("T06", "tools", lambda b: b["tools"].append(b["tools"][0])),
    Row("T07", "tools", change("tool_choice", "auto")),
    Row("T07", "tools", change("tool_choice", ...)),
    Row("T07", "tools", lambda _: None, terms=replace(TERMS["tools"], tool_choice="auto")),
    Row("T08", "tools", change("tools.3", ...)),
    Row("T09", "tools", change("tools.4.function.name", "ask_human_desktop")),
    Row("T12", "tools", change("messages.0.content", "Reply in <tool_call></tool_call> tags.")),
    Row("T12", "tools", change("messages.0.content", 'Reply with {"tool_name": "click"}.')),
    Row("T21", "tools", insert(14, STRAY)),
    Row(
        "T23",
        "tools",
        lambda b: b["messages"][3]["tool_calls"].append({**b["messages"][3]["tool_calls"][0], "id": "b"}),
    ),
    Row("T23", "tools", on_call(lambda call: call.pop("type"))),
    Row("T23", "tools", on_call(lambda call: call.update(id="")), also="T37"),
    Row("T24", "tools", change("messages.3.content", [text("Hm.")])),
    Row("T24", "tools", change("messages.3.content", '{"note": null, "thought": "Hm.", "tool_call": {}}')),
    Row("T25", "tools", with_arguments({"element": "Button", "x": 1, "y": 2})),
    Row("T25", "tools", with_arguments('{"element": "Button", "x": 1, "x": 1, "y": 2}')),
    Row("T25", "tools", with_arguments("x=1")),
    Row("T27", "tools", insert(14, STRAY), talk=LAST),
    Row("T28", "tools", with_arguments('{"element": "Button", "x": 1}')),
    Row("T28", "tools", with_arguments('{"element": "Button", "x": 1, "y": 2, "mood": "good"}')),
    Row("T28", "tools", on_call(lambda call: call["function"].update(name="teleport"))),
    Row(
        "T29",
        "tools",
        both(on_call(lambda call: call.update(id="call_1")), change("messages.4.tool_call_id", "call_1")),
    ),
    Row("T37", "tools", change("messages.4.tool_call_id", "call_7")),
    Row("T38", "tools", change("messages.4.content", "")),
    Row("T38", "tools", change("messages.4.content", [text("Done.")])),
    Row("T39", "tools", insert(14, user('<tool_output tool="click">\nDone.\n</tool_output>')), also="T21"),
    Row("T40", "tools", change("messages.3.reasoning", "Hm."), talk=KEPT, terms=KEEPING),
    Row("T40", "tools", change("messages.3.content", "<think>Hm.</think> A note."), talk=KEPT, terms=KEEPING),
    Row("T43", "tools", lambda _: None, terms=KEEPING),
    Row("T43", "tools", lambda _: None, talk=KEPT),
]

FLAT = [
    Row("H02", "holotron", change("tools", [])),
    Row("H04", "holotron", change("response_format", ...)),
    Row("H04", "holotron", change("response_format", {"type": "text"})),
    Row("H04", "holotron", change("structured_outputs", {"json": {}})),
    Row("H04", "holotron", lambda _: None, terms=BY_SCHEMA),
    Row(
        "H05",
        "holotron",
        both(change("response_format", ...), change("structured_outputs", {"json": STATE})),
        terms=BY_SCHEMA,
    ),
    Row("H10", "holotron", insert(1, {"role": "assistant", "content": "{}"}), also="H20"),
    Row(
        "H11",
        "holotron",
        lambda b: b["messages"][0].update(content=[text(b["messages"][0]["content"]), {"type": "audio"}]),
    ),
    Row("H12", "holotron", change("messages.0.content", "Reply with JSON.")),
    Row("H20", "holotron", lambda b: b["messages"][1]["content"].reverse()),
    Row("H21", "holotron", images(2)),
    Row("H21", "holotron", images(0), also="H20"),
    Row("H22", "holotron", words("Task: Save the file.", "Task:  ")),
    Row("H23", "holotron", words("Recent actions:", "Recent:")),
    Row("H23", "holotron", words("\n- ", "\n* ")),
    Row("H23", "holotron", words("Recent actions:\n", "Recent actions:\n- one\n- two\n")),
    Row("H23", "holotron", words("None yet", "Nothing"), talk=Talk()),
    Row("H41", "holotron", change("temperature", 0.8)),
    Row("H42", "holotron", change("chat_template_kwargs", {"enable_thinking": True})),
    Row("H42", "holotron", change("reasoning_effort", "low")),
]

QUESTION = [
    Row("L02", "localize", change("tools", [])),
    Row("L04", "localize", change("structured_outputs", ...), also="L05"),
    Row("L04", "localize", change("response_format", {"type": "json_object"})),
    Row("L05", "localize", on_schema(lambda s: s.pop("additionalProperties"))),
    Row("L05", "localize", on_schema(lambda s: s.pop("type"))),
    Row("L06", "localize", on_schema(lambda s: s["properties"].update(z={"type": "integer"}))),
    Row("L06", "localize", on_schema(lambda s: s["properties"].pop("y"))),
    Row(
        "L06", "localize", on_schema(lambda s: s["properties"].update(x={"type": "number", "minimum": 0, "maximum": 1}))
    ),
    Row("L10", "localize", insert(0, {"role": "system", "content": "You find things."})),
    Row("L20", "localize", lambda b: b["messages"][0]["content"].reverse()),
    Row("L20", "localize", change("messages.0.content.1.text", " ")),
    Row("L20", "localize", lambda b: b["messages"][0]["content"].append(text("Well?"))),
    Row("L41", "localize", change("temperature", 0.8)),
    Row("L41", "localize", THOUGHT_ABOUT),
    Row("L42", "localize", change("chat_template_kwargs", {"enable_thinking": True})),
    Row("L42", "localize", change("chat_template_kwargs", ...)),
    Row("L42", "localize", change("reasoning_effort", "medium")),
]

LIMITS = [
    Row("W10", "structured", change("stream", True), also="W13"),
    Row("W11", "structured", change("max_tokens", ...)),
    Row("W11", "structured", change("max_tokens", 0)),
    Row("W11", "structured", change("max_tokens", 4097)),
    Row("W11", "tools", change("max_tokens", True)),
    Row("W12", "structured", change("messages.1.content", LONG)),
    Row("W12", "tools", on_tool(lambda f: f.update(description=LONG))),
    Row("W12", "holotron", lambda _: None, terms=replace(TERMS["holotron"], context_tokens=300)),
    Row("W13", "structured", change("top_p", 1)),
    Row("W13", "localize", change("max_completion_tokens", 100)),
]

ROWS = [
    *(row for letter, dialect in zip("STHL", TERMS, strict=True) for row in common(letter, dialect)),
    *(row for letter, dialect in zip("ST", TERMS, strict=False) for row in chat(letter, dialect)),
    *STRUCTURED,
    *TOOLS,
    *FLAT,
    *QUESTION,
    *LIMITS,
]
