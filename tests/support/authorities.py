"""Whom an HTTPS client believes: each client of Prefect's, of which a flow makes several, reads the whole list anew."""

from __future__ import annotations

from pathlib import Path

import certifi

_END = "-----END CERTIFICATE-----\n"


def one(folder: Path) -> Path:
    """Write a list with one of the usual authorities instead of all; no test speaks to whom another one vouches for."""
    path = folder / "authorities.pem"
    path.write_text(Path(certifi.where()).read_text(encoding="utf-8").partition(_END)[0] + _END, encoding="utf-8")
    return path
