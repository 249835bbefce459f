"""What filing an entry comes to."""

from __future__ import annotations

from pydantic import BaseModel


class Filed(BaseModel):
    """Whether the program says that the entry is filed."""

    filed: bool
