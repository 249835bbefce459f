"""Whether the description of a click target names a certain control, and whether two texts have a word in common.

A description names a control if its subject is exactly the control's name: “Save”, “the Save button”, “'Save' at the
bottom of the form”. Articles, roles, colors and places may stand around the name. Any other word makes it unclear.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, takewhile

from holo_tasks.core.input.pressed_elements import BUTTONS

MOST_WORDS = 8
"""A longer name is a paragraph, not the name of a control."""
LEAST_STEM = 4
"""Minimal length of a word whose presence in a longer word makes the two similar, as “save” and “saved”."""
FIELD_ROLES = frozenset({"text field", "password field", "spin button", "combo box", "date editor"})
CHECK_ROLES = frozenset({"check box", "radio button", "switch", "toggle button", "check menu item", "radio menu item"})
ITEM_ROLES = frozenset({"list item", "tree item", "row", "cell"})
HEADER_ROLES = frozenset({"column header", "row header"})
_MENU_ROLES = frozenset({"menu item", "check menu item", "radio menu item", "menu", "list item", "combo box", "link"})


def _set(words: str) -> frozenset[str]:
    return frozenset(_folded(words).split())


def _folded(text: str) -> str:
    """Return a text without case and accents."""
    split = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", "".join(c for c in split if not "\u0300" <= c <= "\u036f"))


_ROLE_NOUNS: tuple[tuple[frozenset[str], frozenset[str]], ...] = (
    (_set("checkbox tickbox checkbutton kontrollkästchen casilla チェックボックス"), CHECK_ROLES | {"cell"}),
    (_set("radio"), CHECK_ROLES | {"list item"}),
    (_set("switch toggle schalter interrupteur"), CHECK_ROLES | {"button"}),
    (
        _set("button btn pushbutton key schaltfläche knopf taste bouton botón bottone pulsante knop botão"),
        BUTTONS | {"icon"},
    ),
    (_set("ボタン 按钮 버튼 кнопка przycisk"), BUTTONS | {"icon"}),
    (_set("icon symbol icône icono アイコン"), frozenset({"button", "toggle button", "icon"})),
    (_set("link hyperlink lien enlace リンク"), BUTTONS | {"list item", "tree item", "cell"}),
    (_set("tab reiter registerkarte onglet pestaña scheda タブ"), frozenset({"tab", "button", "link", "list item"})),
    (_set("dropdown combobox select selector auswahlfeld ausklappliste"), frozenset({"combo box", "button", "menu"})),
    (
        _set("field input textbox inputbox textfield feld eingabefeld textfeld champ campo veld 欄 フィールド"),
        FIELD_ROLES,
    ),
    (_set("menu item entry option eintrag menüpunkt menüeintrag élément メニュー"), _MENU_ROLES | ITEM_ROLES | {"tab"}),
    (_set("cell zelle cellule celda セル"), frozenset({"cell"})),
    (_set("row line record zeile ligne fila 行"), ITEM_ROLES),
    (_set("column header spalte spaltenkopf colonne columna 列"), frozenset({"column header"})),
    (_set("slider regler"), frozenset({"slider"})),
)
_ROLES: dict[str, frozenset[str]] = {noun: roles for nouns, roles in _ROLE_NOUNS for noun in nouns}
_PAIRED = {
    "check box": "checkbox",
    "tick box": "tickbox",
    "radio button": "radio",
    "toggle button": "toggle",
    "text field": "textfield",
    "text box": "textbox",
    "input box": "inputbox",
    "input field": "textfield",
    "entry field": "textfield",
    "combo box": "combobox",
    "drop down": "dropdown",
    "push button": "button",
    "menu item": "menu",
    "menu entry": "menu",
    "list item": "item",
    "column header": "column",
}
_ARTICLES = _set(
    "the a an this that der die das den dem ein eine einen le la les l un une el los las il lo gli i de het een o os as"
)
_LEADS = _set(
    "click press tap hit push on auf labeled labelled label named called titled marked reading saying says that with"
    " text caption beschriftet mit namens avec intitulé"
)
_COLORS = _set(
    "red blue green gray grey orange yellow purple pink teal big large small round rounded primary highlighted rot rote"
    " roter roten blau blaue blauer blauen grün grüne grüner grünen rouge bleu vert verte grau graue"
)
_PLACES = _set(
    "left right top bottom upper lower middle center centre here there selected active main dark light black white"
    " links rechts oben unten gauche droite haut bas"
)
_RELATIONS = _set(
    "next beside below above under underneath beneath over to in inside within on onto at of for from near between by"
    " after before behind that which where who whose with into located"
    " unter neben über im in an am auf von für zum zur bei aus mit nach vor der des dans sur sous pour avec près"
    " en para de del du dans à al con su nel sotto sopra"
)
_ENDS = frozenset(",;:().–—-!?。、")
_JOINTS = _set("and und et")
_AND = _JOINTS | _set("or oder ou y & /")
_STOPS = _ARTICLES | _LEADS | _COLORS | _PLACES | _RELATIONS | frozenset(_ROLES) | _AND | {"box", "check"}
_STEP = re.compile(r":\s|[>→›]")
_UNIT = re.compile(r"[^\W_]+|[^\w\s]|_")
_QUOTED = re.compile(
    r"‘([^‘’]+)’|“([^“”]+)”|„([^„“”]+)[“”]|\"([^\"]+)\"|«([^«»]+)»|「([^「」]+)」|『([^『』]+)』|`([^`]+)`"
    r"|(?<!\w)'([^']+(?:'\w[^']*)*)'(?!\w)"
)
_CJK_NOUNS = re.compile("(" + "|".join(sorted((n for n in _ROLES if not n[0] < "\u3000"), key=len, reverse=True)) + ")")
_QUOTE = "\0"


@dataclass(frozen=True)
class Subject:
    """The name that a description gives to its target: the words of the name and the roles that may bear it.

    ``roles`` is ``None`` if the description tells no role. ``is_sure`` is true if the name is in quotation marks, is
    the whole description, or is next to a role.
    """

    words: tuple[str, ...]
    roles: frozenset[str] | None
    is_sure: bool


@lru_cache(maxsize=16_384)
def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text, without case, accents and punctuation."""
    return tuple(unit for unit in _units(text) if unit[0].isalnum())


@lru_cache(maxsize=64)
def _spaced(description: str) -> str:
    return f" {' '.join(words_of(description))} "


def subject_named(description: str, name: str) -> Subject | None:
    """Return the subject of a description if it is exactly this name, ``None`` otherwise."""
    wanted = words_of(name)
    if not 0 < len(wanted) <= MOST_WORDS or f" {' '.join(wanted)} " not in _spaced(description):
        return None
    if words_of(description) == wanted and _is_plain(description, name):
        return Subject(wanted, None, True)
    quotes = _QUOTED.findall(description)
    units = _with_joined_roles(_units(_QUOTED.sub(f" {_QUOTE} ", description)))
    if quotes and words_of(next(part for part in quotes[0] if part)) == wanted:
        return _around(units, units.index(_QUOTE), 1, wanted, True)
    if set(wanted) <= _STOPS and not (_is_phrase(description, name) or _is_proper(description, name)):
        return None
    plain = _units(description)
    places = [place for place, unit in enumerate(plain) if unit[0].isalnum()]
    for start, end in zip(places, places[len(wanted) - 1 :], strict=False):
        if tuple(unit for unit in plain[start : end + 1] if unit[0].isalnum()) == wanted:
            start, end = _with_signs(plain, start, end + 1, _units(name))
            return _around(plain, start, end - start, wanted, False)
    return None


def _with_signs(units: Sequence[str], start: int, end: int, name: Sequence[str]) -> tuple[int, int]:
    """Return the range of a name in a description with the signs at both ends of the name, as in “< Back”."""
    before = len(list(takewhile(lambda unit: not unit[0].isalnum(), name)))
    after = len(list(takewhile(lambda unit: not unit[0].isalnum(), reversed(name))))
    if before and tuple(units[max(0, start - before) : start]) == tuple(name[:before]):
        start -= before
    if after and tuple(units[end : end + after]) == tuple(name[-after:]):
        end += after
    return start, end


def leads_to(description: str, name: str) -> bool:
    """Say whether a description is a path whose last part is this name: “Tag 1: Copy”, “File > Save”."""
    *groups, last = _STEP.split(description)
    wanted = words_of(name)
    return bool(groups and wanted) and tuple(w for w in words_of(last) if w not in _ROLES or w in wanted) == wanted


def mentions_field(description: str) -> bool:
    """Say whether a description has a word for an input field."""
    return any(_ROLES.get(unit) == FIELD_ROLES for unit in _with_joined_roles(_units(description)))


def _is_phrase(description: str, name: str) -> bool:
    """Say whether a description contains a name of several common words, as “Button A”, letter by letter."""
    return " " in name.strip() and bool(re.search(rf"(?<!\w){re.escape(name.strip())}(?!\w)", description))


def _is_proper(description: str, name: str) -> bool:
    """Say whether a common word is written as a name next to a role: “the Next button”, but not “the next button”.

    A color or a place at the start of a description has a capital in any case.
    """
    words = re.findall(r"\w+", name)
    if len(words) != 1 or not words[0][:1].isupper() or _folded(words[0]) in _ARTICLES:
        return False
    if words_of(description).count(_folded(words[0])) > 1:
        return False
    found = re.search(rf"(?<!\w){re.escape(words[0])}\W{{1,4}}(\w+)", description)
    if found is None or _folded(found[1]) not in _ROLES or _folded(f"{words[0]} {found[1]}") in _PAIRED:
        return False
    return bool(description[: found.start()].strip(" \"'‘“„")) or _folded(words[0]) not in _COLORS | _PLACES


def _is_plain(description: str, name: str) -> bool:
    """Say whether a whole description is a name. A word such as “red” or “button” has to be written in the same way."""
    return not set(words_of(name)) <= _STOPS or description.strip(" .'\"‘’“”") == name.strip()


def _around(units: Sequence[str], start: int, length: int, words: tuple[str, ...], quoted: bool) -> Subject | None:
    """Return the subject if only articles, roles, colors and places stand around the name up to the next clause."""
    before, after = _with_joined_roles(units[:start]), _with_joined_roles(units[start + length :])
    leads = _ARTICLES | _LEADS | _COLORS | (_PLACES if quoted else frozenset())
    if any(unit not in _ROLES and unit not in leads and unit not in ":," for unit in before):
        return None
    roles = next((_ROLES[unit] for unit in before if unit in _ROLES), None)
    for place, (unit, following) in enumerate(pairwise([*after, ""])):
        if unit == "," and not _AND.isdisjoint(after[place:]):
            return None  # a list of several targets
        if unit == "-" and following in _ROLES:
            continue
        if unit in _ENDS or unit in _RELATIONS - _PLACES - _ARTICLES:
            break
        if unit not in _ROLES and unit not in _COLORS | _PLACES:
            return None
        roles = _ROLES.get(unit) if roles is None else roles
    if roles is None and not quoted and not _COLORS.isdisjoint(before):
        return None
    if roles is not None and "button" not in roles and "".join(words).isdigit():
        return None  # “item 3” may count, rather than name something
    return Subject(words, roles, quoted or roles is not None)


@lru_cache(maxsize=64)
def _units(text: str) -> tuple[str, ...]:
    """Return the words and signs of a text, in order, with “&” for “and”.

    East Asian nouns of roles are words of their own.
    """
    parts = text.replace("…", " ").replace("...", " ").split(_QUOTE)
    found: list[str] = []
    for place, part in enumerate(parts):
        found += [_QUOTE] if place else []
        found += _UNIT.findall(_CJK_NOUNS.sub(r" \1 ", _folded(part)))
    return tuple("&" if _is_joint(before, unit) else unit for before, unit in pairwise(["", *found]))


def _is_joint(before: str, unit: str) -> bool:
    """Say whether a word means “&” after another word of a name. In “the And button”, it is the name."""
    return unit in _JOINTS and before[:1].isalnum() and before not in _STOPS


def _with_joined_roles(units: Sequence[str]) -> list[str]:
    """Return units in which two words for one role, as “check box”, are one."""
    found: list[str] = []
    for unit in units:
        if found and (pair := _PAIRED.get(f"{found[-1]} {unit}")) is not None:
            found[-1] = pair
        else:
            found.append(unit)
    return found


def share_a_word(description: str, texts: Iterable[str]) -> bool:
    """Say whether a description and one of some texts have a significant word in common, or one that is much like it.

    A text that the description contains as a whole counts whatever its words are.
    """
    reported = words_of(description)
    significant = [word for word in reported if word not in _STOPS]
    whole = "".join(reported)
    for text in texts:
        words = words_of(text)
        if not words:
            continue
        if _holds(reported, words) and not set(words) <= _ARTICLES:
            return True
        squeezed = "".join(words)
        if squeezed == "".join(significant) or (
            len(squeezed) >= LEAST_STEM and (squeezed in whole or _is_slip(squeezed, whole))
        ):
            return True
        if any(are_alike(one, other) for one in significant for other in words if other not in _STOPS):
            return True
    return False


def differ_in_words(one: str, other: str) -> bool:
    """Say whether two texts both have a word that the other lacks: “Tag 1” and “Tag 2”."""
    return lacks_a_word(one, other) and lacks_a_word(other, one)


def lacks_a_word(description: str, name: str) -> bool:
    """Say whether a name has a word that a description lacks: “Tag 2” for “Tag 1”, and “Don't save” for “Save”."""
    said, shown = ({word for word in words_of(text) if word not in _STOPS} for text in (description, name))
    return not shown <= said


def _holds(words: Sequence[str], part: Sequence[str]) -> bool:
    return any(tuple(words[place : place + len(part)]) == tuple(part) for place in range(len(words) - len(part) + 1))


@lru_cache(maxsize=16_384)
def are_alike(one: str, other: str) -> bool:
    """Say whether two words may be the same: by a common stem or a misread letter. Numbers have to be equal."""
    if one == other:
        return True
    if any(character.isdigit() for character in one + other):
        return False
    short, long = sorted((one, other), key=len)
    return (len(short) >= LEAST_STEM and short in long) or _is_slip(one, other)


def _is_slip(one: str, other: str) -> bool:
    """Say whether two texts differ by one letter, or by two if they are long."""
    longest = max(len(one), len(other))
    if longest < LEAST_STEM or any(character.isdigit() for character in one + other):
        return False
    most = 1 if longest < 12 else 2
    return abs(len(one) - len(other)) <= most and distance(one, other, most) <= most


def distance(one: str, other: str, most: int) -> int:
    """Return the edit distance of two texts, at most ``most + 1``."""
    row = list(range(len(other) + 1))
    for place, letter in enumerate(one, 1):
        last, row[0] = row[0], place
        for column, wanted in enumerate(other, 1):
            last, row[column] = row[column], min(row[column] + 1, row[column - 1] + 1, last + (letter != wanted))
        if min(row) > most:
            return most + 1
    return row[-1]
