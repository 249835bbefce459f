"""LibreOffice profiles: the first settings, the cleanup after a crash, and document locks.

A lock file `.~lock.NAME#` holds the profile URL of its instance. If that is a private profile without a process, the
lock is stale. Locks of other people never match.
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
    # An older version than the installed one shows the bar "What's new".
    ("Setup/Product", "ooSetupLastVersion", "9999.0"),
    ("Setup/Product", "WhatsNewDialog", "false"),
    # Unix times at which these bars were last shown: a day in the year 2100.
    ("Setup/Product", "LastTimeGetInvolvedShown", "4102444800"),
    ("Setup/Product", "LastTimeDonateShown", "4102444800"),
)
"""Settings with which the first start shows the document only."""
_RECOVERY = re.compile(r'<item oor:path="/org\.openoffice\.Office\.Recovery/.*?</item>\n?', re.DOTALL)
_LOCKS = ".~lock.*#"


def write_settings(profile: Path) -> None:
    """Write the settings of a new profile: no tips, no information bars, no questions."""
    file = profile / SETTINGS
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(_HEAD + "".join(_ITEM % each for each in QUIET) + "</oor:items>\n", encoding="utf-8")


def mend(profile: Path) -> None:
    """Remove the recovery list and the lock of a crashed instance."""
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
    """Return the URL of a profile for LibreOffice's command line."""
    return profile.absolute().as_uri()


def locks(folders: Iterable[Path]) -> list[tuple[Path, Path]]:
    """Return the document locks in these folders, each with the profile of the instance that made it."""
    found = []
    for folder in dict.fromkeys(folders):
        with contextlib.suppress(OSError):
            for lock in sorted(folder.glob(_LOCKS)):
                said = lock.read_text(encoding="utf-8", errors="replace")
                place = urlsplit(said.strip().rstrip(";").rpartition(",")[2])
                if place.scheme == "file":
                    found.append((lock, Path(unquote(place.path))))
    return found
