"""Which script an interpreter runs is read from its command line, as far as it is a file."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from holo_tasks.desktop import owners


def test_the_script_of_an_interpreter(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.py").write_text("import time; time.sleep(60)")
    (tmp_path / "link.py").symlink_to("app.py")
    whole = str(tmp_path / "app.py")
    cases = [
        ([sys.executable, "app.py"], whole),
        ([sys.executable, "-u", "-X", "utf8", "./app.py", "x.py"], whole),
        ([sys.executable, whole, "--flag"], whole),
        ([sys.executable, "link.py"], whole),
        ([sys.executable, "-c", "import time; time.sleep(60)", "app.py"], ""),
        (["sleep", "60"], ""),
        (["bash", "-c", "sleep 60; true", "app.py"], ""),
    ]
    for command, script in cases:
        with subprocess.Popen(command) as process:
            try:
                told = b"".join(os.fsencode(word) + b"\0" for word in command)
                until = time.monotonic() + 5
                while Path(f"/proc/{process.pid}/cmdline").read_bytes() != told and time.monotonic() < until:
                    time.sleep(0.005)  # until then it is still us
                assert owners._program(process.pid).script == script
            finally:
                process.kill()
