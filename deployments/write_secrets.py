#!/usr/bin/env python3
"""Write the secrets that deployments/compose.yaml asks for into a file of its owner alone, each drawn anew."""

from __future__ import annotations

import argparse
import os
import secrets
from pathlib import Path

NAMES = ("PREFECT_PASSWORD", "PREFECT_DATABASE_PASSWORD", "HOLO_DATABASE_PASSWORD", "REDIS_PASSWORD", "S3_SECRET_KEY")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="path of a new file; an existing file is not changed")
    path = parser.parse_args().file
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise SystemExit(f"write_secrets.py: {path} exists, and its secrets are in use. Name another file.") from None
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.writelines(f"{name}={secrets.token_hex(24)}\n" for name in NAMES)


if __name__ == "__main__":
    main()
