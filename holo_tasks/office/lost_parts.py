"""Find the parts of a workbook that openpyxl would drop, so that a write is refused before they are lost."""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter

_KINDS = {
    "threadedComments": "threaded comments",
    "comments": "comments",
    "charts": "charts",
    "media": "pictures",
    "embeddings": "embedded objects",
    "pivotTables": "pivot tables",
    "slicers": "slicers",
    "timelines": "timelines",
    "ctrlProps": "form controls",
    "activeX": "form controls",
    "queryTables": "query tables",
    "externalLinks": "links to other workbooks",
    "tables": "tables",
    "worksheets": "sheets",
    "chartsheets": "chart sheets",
    "vbaProject.bin": "macros",
    "connections.xml": "data connections",
}
"""Parts below ``xl/`` that a person would miss. Others, such as printer settings, may go."""
_EXTENSIONS = {
    "CCE6A557-97BC-4B89-ADB6-D9C93CAAB3DF": "drop-down lists over other sheets",
    "78C0D931-6437-407D-A8EE-F0AAD7539E65": "conditional formats",
    "05C60535-1F16-4FD2-B633-F4F36F0B64E0": "sparklines",
    "A8765BA9-456A-4DAB-B4F3-ACF838C121DE": "slicers",
    "3A4CF648-6AED-40F4-86FF-DC5316D8AED3": "slicers",
    "7E03D99C-DC04-49D9-9315-930204A7B6E9": "timelines",
    "B025F937-C7B1-47D3-B67F-A62EFF666E3E": "conditional formats",
    "FC87AEE6-9EDD-4A0A-B7FB-166176984837": "protected ranges",
}
_EXT = re.compile(rb'<(?:\w+:)?ext\b[^>]*\buri="\{([0-9A-Fa-f-]{36})\}"')
_ANCHOR = re.compile(rb"<(?:\w+:)?(?:twoCell|oneCell|absolute|relSize|absSize)Anchor\b")


def lost_parts(before: bytes, after: bytes) -> list[str]:
    """Return the names of the contents that the first workbook file has and the second has no more, sorted.

    Both are whole files. The comparison counts parts by kind, shapes in drawings, and extensions of sheets.
    """
    had, has = _contents(before), _contents(after)
    return sorted({name for name, number in had.items() if has[name] < number})


def _contents(data: bytes) -> Counter[str]:
    found: Counter[str] = Counter()
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        for name in packed.namelist():
            folder, _, rest = name.partition("/")
            kind = rest.split("/", 1)[0]
            if folder != "xl" or "/_rels/" in name or name.endswith("/"):
                continue
            kind = "comments" if re.match(r"comments\d*\.xml", kind) else kind
            # Excel stores proposals for new elements beside a chart. The chart itself has its own style and colors.
            if kind in _KINDS and not re.match(r"charts/(style|colors)\d*\.xml", rest):
                found[_KINDS[kind]] += 1
            # LibreOffice and Google Sheets write drawings without shapes, so the shapes are counted.
            if kind == "drawings" and name.endswith(".xml"):
                found["drawings"] += len(_ANCHOR.findall(packed.read(name)))
            if kind == "worksheets":
                for uri in set(_EXT.findall(packed.read(name))):
                    found[_EXTENSIONS.get(uri.decode().upper(), "features of a newer Excel")] += 1
    return found
