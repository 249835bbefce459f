"""Run llama.cpp's own server, which knows nothing of this project.

`build_llama_server.sh FOLDER` builds it and writes the tiny model; this module starts the server in that folder. The
replies are babble, but all else is real. The server parses the request, renders the messages with Qwen's own template,
decodes the pictures, and makes a grammar of the schema or the tools that constrains its output.

Measured on two shared cores: 5 to 7 minutes to build (8 of processor time), then 0.2 s to start. The server has 12.4
MB, the model 0.4 MB, its vision encoder 1.4 MB. A byte is a token, so a first request with the whole schema and two
pictures has 11,000 tokens and takes 4 s; later ones with the same prefix take 1 s.

Its grammar does not enforce bounds of fractional numbers. In Qwen's tagged form of tool calls it does not enforce
enums, the length of a string, or that an argument comes once. The project may refuse such replies in a test.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType

import httpx

BINARY = "llama-server"
MODEL = "tiny.gguf"
VISION_ENCODER = "tiny-mmproj.gguf"
CONTEXT_TOKENS = 65_536
START_S = 60.0
STOP_S = 10.0


def is_built(folder: Path) -> bool:
    """Say whether the folder has all that a server needs."""
    return all((folder / name).is_file() for name in (BINARY, MODEL, VISION_ENCODER))


class LlamaServer:
    """A server with the tiny model on a free port of this machine, for as long as the context is open."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._output = tempfile.NamedTemporaryFile(prefix="llama-server-", suffix=".log")  # noqa: SIM115
        self.base_url = ""

    @property
    def log(self) -> str:
        """The server's output until now. It remains readable after the server has ended."""
        return Path(self._output.name).read_text(encoding="utf-8", errors="replace")

    def __enter__(self) -> LlamaServer:
        self._process = subprocess.Popen(
            self._command(),
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            # The server also reads its options from the environment; a test wants only those of its command line.
            env={},
        )
        try:
            self.base_url = f"{self._wait_until_ready()}/v1"
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _command(self) -> list[str]:
        folder = self._folder.resolve()
        return [
            str(folder / BINARY),
            *("--model", str(folder / MODEL)),
            *("--mmproj", str(folder / VISION_ENCODER)),
            *("--alias", "tiny-vision"),
            *("--ctx-size", str(CONTEXT_TOKENS)),
            *("--parallel", "1"),
            *("--threads", "2"),
            *("--host", "127.0.0.1"),
            # The server picks a free port and logs it.
            *("--port", "0"),
            "--jinja",
            "--offline",
            "--no-ui",
        ]

    def _wait_until_ready(self) -> str:
        assert self._process
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise RuntimeError(f"llama-server ended with {self._process.returncode}:\n{self.log}")
            if (said := re.search(r"listening on (http://\S+)", self.log)) and _is_healthy(said[1]):
                return said[1]
            time.sleep(0.05)
        raise RuntimeError(f"llama-server was not ready within {START_S:.0f} s:\n{self.log}")

    def _stop(self) -> None:
        if self._process:
            self._process.terminate()
            try:
                self._process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


def _is_healthy(address: str) -> bool:
    try:
        # Requests to this machine itself must not use a proxy from the environment.
        return httpx.get(f"{address}/health", trust_env=False, timeout=5).status_code == 200
    except httpx.TransportError:
        return False
