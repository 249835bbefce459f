"""Render the open proposals of a playbook as one HTML page, with the change and both pictures.

`page` is called by `holo-tasks playbook review`.
"""

from __future__ import annotations

import base64
from html import escape

from holo_tasks.healing.folder import HealingFolder
from holo_tasks.healing.proposal import Proposal

_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; color: #1a1a1a }}
pre {{ background: #f4f4f4; padding: .7rem; overflow-x: auto }}
figure {{ display: inline-block; margin: 0 1rem 1rem 0; width: 46%; vertical-align: top }}
.shot {{ position: relative }} .shot img {{ width: 100%; border: 1px solid #999 }}
.at {{ position: absolute; width: 2.4rem; height: 2.4rem; margin: -1.2rem; border: 3px solid #c2185b;
  border-radius: 50% }}
td, th {{ padding: .1rem .8rem .1rem 0; text-align: left }}
</style></head><body><h1>{title}</h1>
"""


def page(folder: HealingFolder) -> str:
    """Return the page. It loads no resources and runs no scripts."""
    parts = [_HEAD.format(title=escape(f"Proposals for {folder.file.name}"))]
    opened = [one for one in folder.proposals if one.status == "open"]
    parts += [_section(folder, one) for one in opened] or ["<p>Nothing is proposed.</p>"]
    for goal, fit in folder.fits.goals.items():
        rows = "".join(
            f"<tr><td>{one.fitted}</td><td>{one.healed}</td><td>{one.failed}</td><td>{escape(one.step)}</td></tr>"
            for one in fit.steps.values()
        )
        head = "<tr><th>fitted</th><th>by the model</th><th>failed</th><th>step</th></tr>"
        parts.append(f"<h2>{escape(goal)}</h2><table>{head}{rows}</table>")
    return "".join([*parts, "</body></html>\n"])


def _section(folder: HealingFolder, one: Proposal) -> str:
    checked = "verified" if one.verified else "not verified"
    summary = f"<p>{escape(one.why)}; in {one.times} runs; {checked}; from {escape(one.run)}</p>"
    diff = f"<pre>{escape(chr(10).join(one.diff))}</pre>"
    pictures = _figure(folder, one, "old", one.old_point) + _figure(folder, one, "new", one.point)
    return f"<section><h2>{escape(one.id)}: {escape(one.step)}</h2>{summary}{diff}{pictures}</section>"


def _figure(folder: HealingFolder, one: Proposal, name: str, point: tuple[int, int] | None) -> str:
    path = folder.picture(one, name)
    if path is None:
        return f"<figure><figcaption>{name}: no picture</figcaption></figure>"
    shown = base64.b64encode(path.read_bytes()).decode()
    at = "" if point is None else f'<div class="at" style="left:{point[0] / 10}%;top:{point[1] / 10}%"></div>'
    image = f'<img alt="{name}" src="data:image/jpeg;base64,{shown}">'
    return f'<figure><div class="shot">{image}{at}</div><figcaption>{name}</figcaption></figure>'
