"""Read mail, and write workbooks: steps without a screen that a flow combines with an agent. No mail is sent.

    from holo_tasks.office import Column, Letter, Workbook

Flows import the names of this package. Its three most important modules are `mailbox`, which reads a Maildir or an IMAP
folder into letters, `letter`, which parses one message, and `workbook`, which keeps one row per key in an Excel file.
A workbook that exists is changed in its XML: `existing_sheet` combines `package` (the ZIP file), `sheet_part`,
`table_part`, `styles_part` and `cell_reader`, which are built on `xml_spans`.

This package may import core, machine and loop, and does not know Prefect. Names are imported on first use, and openpyxl
and pypdf only when a workbook or a PDF is opened.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holo_tasks.office.columns import Column
    from holo_tasks.office.letter import Attachment, Letter, sender_name
    from holo_tasks.office.plain import plain_name, plain_text
    from holo_tasks.office.workbook import Workbook

_HOMES = {
    "Attachment": "letter",
    "Column": "columns",
    "Letter": "letter",
    "Workbook": "workbook",
    "plain_name": "plain",
    "plain_text": "plain",
    "sender_name": "letter",
}

__all__ = ["Attachment", "Column", "Letter", "Workbook", "plain_name", "plain_text", "sender_name"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'holo_tasks.office' has no attribute {name!r}")
    return getattr(import_module(f"holo_tasks.office.{_HOMES[name]}"), name)
