"""LibreOffice's profile: how it begins, what an end by force leaves in it, and the locks beside documents.

A lock `.~lock.NAME#` names the profile of the instance that made it. So one that names a profile of ours, which no
process uses any more, is stale, and no lock of anybody else's can be taken for it.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlsplit

SETTINGS = Path("user/registrymodifications.xcu")
_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<oor:items xmlns:oor="http://openoffice.org/2001/registry" '
    'xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">\n'
)
_ITEM = '<item oor:path="/org.openoffice.%s"><prop oor:name="%s" oor:op="fuse"><value>%s</value></prop></item>\n'
QUIET = (
    ("Office.Common/Misc", "FirstRun", "false"),
    ("Office.Common/Misc", "ShowTipOfTheDay", "false"),
    # A version below the installed one brings up what is new in that.
    ("Setup/Product", "ooSetupLastVersion", "9999.0"),
    ("Setup/Product", "WhatsNewDialog", "false"),
    # When these bars were shown last, in seconds since 1970: a day that is far off.
    ("Setup/Product", "LastTimeGetInvolvedShown", "4102444800"),
    ("Setup/Product", "LastTimeDonateShown", "4102444800"),
)
"""Settings with which the first start shows nothing but the document."""
_RECOVERY = re.compile(r'<item oor:path="/org\.openoffice\.Office\.Recovery/.*?</item>\n?', re.DOTALL)
_LOCKS = ".~lock.*#"


def seed(profile: Path) -> None:
    """Have an empty profile start without a tip, a bar or a question."""
    file = profile / SETTINGS
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(_HEAD + "".join(_ITEM % each for each in QUIET) + "</oor:items>\n", encoding="utf-8")


def mend(profile: Path) -> None:
    """Remove the marks of an instance that was ended by force: what it would recover, and its lock."""
    (profile / ".lock").unlink(missing_ok=True)
    file = profile / SETTINGS
    with contextlib.suppress(OSError, UnicodeDecodeError):
        before = file.read_text(encoding="utf-8")
        after = _RECOVERY.sub("", before)
        if after != before:
            draft = file.with_suffix(".draft")
            draft.write_text(after, encoding="utf-8")
            draft.replace(file)


def url(profile: Path) -> str:
    """Return a profile as LibreOffice is told of it."""
    return profile.absolute().as_uri()


def locks(folders: Iterable[Path]) -> list[tuple[Path, Path]]:
    """Return the locks in some folders, each with the profile of the instance that made it."""
    found = []
    for folder in dict.fromkeys(folders):
        with contextlib.suppress(OSError):
            for lock in sorted(folder.glob(_LOCKS)):
                said = lock.read_text(encoding="utf-8", errors="replace")
                place = urlsplit(said.strip().rstrip(";").rpartition(",")[2])
                if place.scheme == "file":
                    found.append((lock, Path(unquote(place.path))))
    return found
