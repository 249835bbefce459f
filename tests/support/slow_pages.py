"""The pages of `slow_server`. The colour of a block distinguishes a form from its answer, so no OCR is needed.

A button is directly above the left end of each block. On a form it submits the form; on an answer it leads to the next
form.
"""

from __future__ import annotations

FORM, ANSWER, BLOCK = (204, 0, 102), (0, 136, 85), (400, 160)
COUNTED = ((0, 85, 204), (221, 136, 0))
"""Colours of the counter's block, one click after another."""
HERE = "<!--here-->"
"""Marks where a two-part answer is cut."""
KINDS = ("form", "redirects", "fetch", "fetch, spinner", "streamed", "image", "style sheet", "new tab")
TALKS = ("poll", "web socket", "server-sent events", "long poll", "beacon", "stream")

HEAD = """<!doctype html><meta charset=utf-8><title>Slow form</title><link rel=icon href="data:,">
<style>
body { margin: 40px; font: 18px sans-serif }
button { width: 200px; height: 60px; margin-bottom: 20px; font: 18px sans-serif }
.block { width: 400px; height: 160px }
.turning { position: absolute; left: 600px; top: 160px; width: 40px; height: 40px; border: 8px solid #ccc;
  border-top-color: #333; border-radius: 50%; animation: turn 1s linear infinite }
@keyframes turn { to { transform: rotate(360deg) } }
</style>"""

FETCH = """<button onclick="send()">Send</button><div class=block id=block style="background:FORM"></div>
<script>
async function send() {
  SIGN
  await (await fetch('/send', {method: 'POST', body: 'amount=12'})).text();
  document.querySelector('.turning')?.remove();
  block.style.background = 'ANSWER';
  document.querySelector('button').onclick = () => location.assign('/');
}
</script>"""
SPINNER = "document.body.insertAdjacentHTML('beforeend', '<div class=turning></div>');"

LONG_POLL = "(async () => { for (;;) await (await fetch('/long-poll')).text(); })()"
TALK = {
    "": "",
    "poll": "setInterval(async () => (await fetch('/poll')).text(), 1000);",
    "web socket": "const s = new WebSocket(location.href.replace('http', 'ws').replace('counter', 'socket'));"
    "s.onmessage = () => s.send('here');",
    "server-sent events": "new EventSource('/events').onmessage = () => {};",
    "long poll": LONG_POLL,
    "long poll later": f"setTimeout(() => {LONG_POLL}, 1500)",
    "beacon": "addEventListener('click', () => navigator.sendBeacon('/beacon', 'clicked'));",
    "stream": "fetch('/stream').then(async a => { const r = a.body.getReader(); while (!(await r.read()).done); });",
}


def _css(color: tuple[int, int, int]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*color)


def form(kind: str) -> str:
    """Return the page with a form that is submitted in the given way."""
    if kind.startswith("fetch"):
        sign = SPINNER if "spinner" in kind else ""
        body = FETCH.replace("SIGN", sign).replace("FORM", _css(FORM)).replace("ANSWER", _css(ANSWER))
        return HEAD + body
    target = " target=_blank" if kind == "new tab" else ""
    send = f"<form method=post action=/send{target}><button name=amount value=12>Send</button></form>"
    return f'{HEAD}{send}<div class=block style="background:{_css(FORM)}"></div>'


def answer(*, style: str = "", filling: str = "", block: str = "") -> str:
    """Return the page that confirms the form. ``block`` replaces the usual block of colour."""
    color = "" if style else f' style="background:{_css(ANSWER)}"'
    shown = block or f"<div class=block{color}></div>"
    button = '<form action="/"><button>Next form</button></form>'
    return f"{HEAD}{style}<p>{filling}</p>{HERE}{button}{shown}"


def answer_style() -> str:
    """Return the style sheet that gives an answer its colour."""
    return f".block {{ background: {_css(ANSWER)} }}"


def counter(talk: str) -> str:
    """Return a page that changes the colour of its block at each click, at once, and has other traffic in the
    background.
    """
    colors = [_css(color) for color in COUNTED]
    return f"""{HEAD}<button>Count</button><div class=block id=block style="background:{colors[0]}"></div>
<script>
let count = 0;
document.querySelector('button').addEventListener('click', () => {{
  block.style.background = ++count % 2 ? '{colors[1]}' : '{colors[0]}';
}});
{TALK[talk]}
</script>"""
