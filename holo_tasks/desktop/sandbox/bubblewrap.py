"""Find bubblewrap, which isolates sandboxed programs, and explain its errors."""

from __future__ import annotations

import re
import shutil

from holo_tasks.core.errors import DesktopFailed

PROGRAM, PACKAGE = "bwrap", "bubblewrap"
SAYS = f"{PROGRAM}: "
"""The beginning of bubblewrap's error messages."""
FORBIDDEN = re.compile(r"namespace|[ug]id map|loopback|not permitted|No permission|Permission denied")
"""Words of its messages if the machine forbids it to create namespaces."""
OF_A_FILE = re.compile(r"Can't (find|open|mkdir|create|get|stat|chdir|bind)")
"""The beginning of its messages about single files and folders."""


def require() -> str:
    """Return the path of bubblewrap. Raises `DesktopFailed` if it is not installed."""
    found = shutil.which(PROGRAM)
    if found is None:
        raise DesktopFailed(
            "A sandbox (network other than 'host') needs bubblewrap, which is not installed: run `apt-get "
            f"install {PACKAGE}`."
        )
    return found


def failure_reason(words: str) -> str:
    """Return a sentence that explains why bubblewrap did not start a program, by the last line of its log."""
    words = words.removeprefix(SAYS) or "it says nothing"
    if FORBIDDEN.search(words) and not OF_A_FILE.match(words):
        return (
            f"This machine does not let bubblewrap run the program in a sandbox ({words}): allow user namespaces "
            "(sysctl kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns and "
            "user.max_user_namespaces; in a container, its seccomp profile), or give network='host', which uses no "
            "sandbox."
        )
    return f"bubblewrap cannot run the program in a sandbox: {words}."
