"""Read the letters of a mailbox without changing it.

`read_maildir` reads a Maildir. `read_imap` is exported from `imap`.
"""

from __future__ import annotations

import mailbox
import os
from collections.abc import Iterator
from pathlib import Path

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.office.imap import ImapAccount, MailboxUnreachable, read_imap
from holo_tasks.office.letter import MAX_MESSAGE_BYTES, Attachment, Letter, in_order, unread_letter
from holo_tasks.office.letter_reader import LetterReader

__all__ = ["Attachment", "ImapAccount", "Letter", "MailboxUnreachable", "read_imap", "read_maildir"]


def read_maildir(path: str | Path) -> list[Letter]:
    """Return every message in ``cur`` and ``new``, by date and then id. Files are not moved, and flags stay.

    A message that is broken, too big or too slow to parse is still returned, with its ``problems``. Raises
    `InvalidUsage` if the folder is missing, unreadable or not a Maildir.
    """
    folder = Path(path).expanduser()
    if not folder.is_dir():
        raise InvalidUsage(f"There is no mail folder {folder}: give the path of a Maildir.")
    try:
        # Opening a FIFO would block forever.
        odd = {
            entry.name.split(":")[0]
            for sub in ("cur", "new")
            for entry in os.scandir(folder / sub)
            if not entry.is_file() and not entry.is_dir()
        }
        box = mailbox.Maildir(folder, create=False)
        keys = sorted(set(box.keys()) - odd)
    except (FileNotFoundError, NotADirectoryError):
        raise InvalidUsage(
            f"{folder} is not a Maildir, it has no 'cur' and 'new' folders: give the path of a Maildir."
        ) from None
    except PermissionError:
        raise InvalidUsage(f"{folder} may not be read: give this user the right to read it.") from None
    with LetterReader() as reader:
        return in_order(_letters(box, folder, keys, reader))


def _letters(box: mailbox.Maildir, folder: Path, keys: list[str], reader: LetterReader) -> Iterator[Letter]:
    for key in keys:
        source = f"{folder}#{key}"
        try:
            with box.get_file(key) as file:
                raw = file.read(MAX_MESSAGE_BYTES + 1)
                file.seek(0, os.SEEK_END)
                size = file.tell()
        except (KeyError, FileNotFoundError):
            continue  # deleted by its owner since the folder was listed
        except OSError as fault:
            yield unread_letter(source, f"the message file could not be read ({fault.strerror})")
            continue
        if size > MAX_MESSAGE_BYTES:
            yield reader.read_oversized(raw, size, source=source)
        else:
            yield reader.read(raw, source=source)
