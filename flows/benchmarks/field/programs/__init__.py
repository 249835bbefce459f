"""The programs of the field suite, by name."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from benchmarks.field.program import Program
from benchmarks.field.programs.calibre import Calibre
from benchmarks.field.programs.claws_mail import ClawsMail
from benchmarks.field.programs.django_admin import DjangoAdmin
from benchmarks.field.programs.gnome_text_editor import GnomeTextEditor
from benchmarks.field.programs.gnumeric import Gnumeric
from benchmarks.field.programs.grisbi import Grisbi
from benchmarks.field.programs.homebank import HomeBank
from benchmarks.field.programs.jabref import JabRef
from benchmarks.field.programs.libreoffice_base import Base
from benchmarks.field.programs.libreoffice_calc import Calc
from benchmarks.field.programs.midnight_commander import MidnightCommander
from benchmarks.field.programs.sqlitebrowser import SqliteBrowser
from benchmarks.field.programs.tiddlywiki import TiddlyWiki
from benchmarks.field.programs.tryton import Tryton
from benchmarks.field.programs.wagtail import Wagtail

EVERY: tuple[type[Program], ...] = (
    *(HomeBank, Gnumeric, DjangoAdmin, SqliteBrowser, MidnightCommander),
    *(Calc, Base, Calibre, ClawsMail, GnomeTextEditor, Grisbi),
    *(JabRef, TiddlyWiki, Tryton, Wagtail),
)
PROGRAMS: Mapping[str, type[Program]] = {each.name: each for each in EVERY}


def with_folder(folder: Path | None) -> dict[str, type[Program]]:
    """Return the suite's programs and those of the modules in a folder, by name. The folder's come last."""
    programs = dict(PROGRAMS)
    if folder is not None:
        sys.path.append(str(folder.resolve()))
        for path in sorted(folder.glob("*.py")):
            for found in vars(import_module(path.stem)).values():
                if isinstance(found, type) and issubclass(found, Program) and found.__module__ == path.stem:
                    programs[found.name] = found
    return programs
