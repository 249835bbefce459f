"""Certificate authorities for HTTPS clients. Prefect makes several clients per flow, and each parses the whole list."""

from __future__ import annotations

from pathlib import Path

import certifi

_END = "-----END CERTIFICATE-----\n"


def one(folder: Path) -> Path:
    """Write a list with one public authority instead of all. No test connects to a host that needs the others."""
    path = folder / "authorities.pem"
    path.write_text(Path(certifi.where()).read_text(encoding="utf-8").partition(_END)[0] + _END, encoding="utf-8")
    return path
