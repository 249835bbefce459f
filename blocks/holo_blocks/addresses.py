"""Addresses of the blocks' logo and documentation, for the Prefect UI.

A browser has to reach both. The package has no public address. Serve the pages that `make docs` builds, and set
``HOLO_DOCS_URL`` to their address before the blocks are registered.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from prefect.blocks.system import Secret

SITE = "HOLO_DOCS_URL"
PREFECTS_OWN = "https://docs.prefect.io/v3/concepts/blocks"


def picture(environ: Mapping[str, str] | None = None) -> Any:
    """Return the address of the blocks' logo: a PNG of the served pages, or Prefect's own picture."""
    site = _site(environ)
    return f"{site}/images/logo.png" if site else Secret._logo_url


def page(section: str, environ: Mapping[str, str] | None = None) -> Any:
    """Return the address of a block's section in the served pages, or of Prefect's page about blocks."""
    site = _site(environ)
    return f"{site}/reference/blocks.html#{section}" if site else PREFECTS_OWN


def _site(environ: Mapping[str, str] | None) -> str:
    return (os.environ if environ is None else environ).get(SITE, "").strip().rstrip("/")
