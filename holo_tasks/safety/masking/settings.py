"""Redaction settings of the user, from a file or a Prefect block. `Redaction` is the main class."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from holo_tasks.safety.masking import user_patterns
from holo_tasks.safety.masking.kinds import FINDERS
from holo_tasks.safety.places import Area
from holo_tasks.safety.settings_model import SettingsModel

Mode: TypeAlias = Literal["paint", "wireframe"]
WORDS = (
    "OK", "Cancel", "Save", "Save as", "Search", "Open", "Close", "New", "Delete", "Edit", "Back", "Next", "Apply",
    "Yes", "No", "Submit", "Send", "Print", "Help", "File", "View", "Tools", "Options", "Settings", "Find", "Filter",
    "Refresh", "Reload", "Log in", "Log out", "Login", "Logout", "Sign in", "Sign out", "Add", "Remove", "Copy",
    "Paste", "Cut", "Undo", "Redo", "Select", "Select all", "Clear", "Reset", "Continue", "Finish", "Done", "Exit",
    "Quit", "Home", "Menu", "More", "Previous", "First", "Last", "Page", "Name", "User", "User name", "Username",
    "Password", "E-mail", "Date", "Amount", "Status", "Total", "Type", "Description", "Address", "Phone", "Details",
    "Upload", "Download", "Import", "Export", "Approve", "Reject", "Confirm", "Abort", "Retry", "Ignore",
)  # fmt: skip
"""Common words of user interfaces, which a wireframe shows unchanged."""


def _pattern(text: str) -> str:
    user_patterns.check(text)
    return text


def _kind(name: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name):
        raise ValueError(f"{name!r} is not a valid name of a kind: use lowercase letters, digits and _")
    return name


def _text_kind(name: str) -> str:
    if name not in FINDERS:
        raise ValueError(f"{name!r} is not a kind of text; use one of: {', '.join(FINDERS)}")
    return name


def _searchable(text: str) -> str:
    if sum(character.isalnum() for character in text) < 2:
        raise ValueError(f"{text!r} is too short to search for")
    return text


def _region_from_box(value: Any) -> Any:
    return value if isinstance(value, dict | Region) else {"box": value}


PatternText = Annotated[str, AfterValidator(_pattern)]
KindName = Annotated[str, AfterValidator(_kind)]


class Region(BaseModel):
    """A region of the screen that is always masked."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    box: Area = Field(description="[left, top, width, height], in pixels of the screen.")
    kind: KindName = Field(default="region", description="Name of the mask in the trace.")


class Windows(BaseModel):
    """Windows that are always masked, by the program that owns them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    programs: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        min_length=1,
        description="Executables or scripts: a name, a full path, or a path with * and ?. A window whose process is "
        "unknown is also masked.",
    )
    title: PatternText | None = Field(
        default=None,
        description="A regular expression that the window title must match. A program can change its own title.",
    )
    kind: KindName = Field(default="window", description="Name of the masks in the trace.")


class Redaction(SettingsModel):
    """Which parts of a frame are painted over before it leaves the machine.

    If a detector fails, the frame is not sent.
    """

    called: ClassVar[str] = "redaction"

    regions: tuple[Annotated[Region, BeforeValidator(_region_from_box)], ...] = Field(
        default=(), description="Parts of the screen, as [left, top, width, height] or with a kind."
    )
    windows: tuple[Windows, ...] = Field(default=(), description="Windows, by the program that owns them.")
    texts: tuple[Annotated[str, AfterValidator(_text_kind)], ...] = Field(
        default=tuple(FINDERS), description=f"Kinds of private text, found by OCR: {', '.join(FINDERS)}. Empty: none."
    )
    names: tuple[Annotated[str, AfterValidator(_searchable)], ...] = Field(
        default=(), description="Names of people and companies, in any case, with the last name first or last."
    )
    patterns: dict[KindName, PatternText] = Field(
        default_factory=dict, description="Regular expressions for more kinds of text, by the kind's name."
    )
    secrets: bool = Field(
        default=True, description="Whether OCR also looks for the values of secrets that the agent types."
    )
    detector: Literal["presidio"] | None = Field(
        default=None, description="A detector for more kinds: presidio (the extra of that name)."
    )
    mode: Mode = Field(
        default="paint",
        description="paint: the screen with masks on it; wireframe: a drawing of boxes and generic labels, without "
        "pixels of the screen.",
    )
    words: tuple[str, ...] = Field(default=WORDS, description="Texts that a wireframe shows unchanged.")
    padding: int = Field(default=4, ge=0, le=200, description="Pixels around a text that are masked as well.")
    timeout_seconds: float = Field(
        default=60.0, gt=0, le=3600, description="Time limit for all detectors; after it, the frame is not sent."
    )

    @property
    def reads(self) -> bool:
        """Whether these settings need OCR."""
        return bool(self.texts or self.names or self.patterns or self.detector) or self.mode == "wireframe"
