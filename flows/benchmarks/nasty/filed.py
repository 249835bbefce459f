"""Result of filing an entry."""

from __future__ import annotations

from pydantic import BaseModel


class Filed(BaseModel):
    """Whether the program reports the entry as filed."""

    filed: bool
