"""Find the control of a list that leads to its next page. A button of a form or of a wizard never counts.

Pure functions of the accessibility tree. `into_view` uses them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator

from holo_tasks.core.elements.elements import READ_ONLY, Element, ElementTree

PRESSABLE = frozenset({"link", "button", "toggle button"})
FIELDS = frozenset({"text field", "password field", "spin button", "date editor"})
SIGNS = " ‹«<←→›»>….·|"
NEXT_SIGNS = frozenset({"›", "»", ">", "→"})
NEXT = frozenset(
    {
        *("next", "next page", "go to next page", "nächste", "nächste seite", "suivant", "page suivante"),
        *("siguiente", "página siguiente", "successiva", "pagina successiva", "volgende", "volgende pagina"),
    }
)
OTHERS = re.compile(
    r"(first|last|previous|prev|show all|all|erste|letzte|vorherige|zurückblättern|précédent|premier|dernier"
    r"|anterior|primera|última|precedente|vorige)?( page| seite)?|(go to )?page \d+|\d+",
)
"""Names of the other controls of a pager."""
NAMED = re.compile(r"\bpag(ination|er|ing)\b", re.IGNORECASE)
OF = re.compile(r"\b\d+\s*(?:[-–]|to|bis)\s*\d+\s*(?:of|from|von|/)\s*\d+\b", re.IGNORECASE)
PAGE_OF = re.compile(r"\b(?:page|seite)\s+\d+\s*(?:of|von|/)\s*\d+\b", re.IGNORECASE)
WIZARD = re.compile(r"\b(step|schritt|étape|paso|finish|submit|save|cancel)\b", re.IGNORECASE)
SEARCH = re.compile(r"search|filter|find|such|query", re.IGNORECASE)
MOST_UP = 5
"""Most ancestors of a control that may be the pager around it."""
MOST_NUMBERS = 20
"""A group with more numbers may be a calendar."""
TABLES = frozenset({"table", "tree table", "row", "cell"})


def next_page(tree: ElementTree, beside: Element, banned: Collection[str]) -> Element | None:
    """Return the control that leads to the next page of a list; ``None`` unless it is one beyond doubt.

    It is a control named such as Next, or the number after the current one, in a group that has only controls of a
    pager. The group shows page numbers, says which items of how many it shows, or has the name of a pagination.
    ``banned`` are names of controls that the playbook presses itself. A page with fields to fill in has no such
    control.
    """
    page = next((each for each in tree.ancestors(beside) if each.role == "document"), tree.window_of(beside))
    parts = [*tree.below(page)]
    found: dict[str, tuple[Element, Element]] = {}
    for each in parts:
        if each.role in PRESSABLE and (_is_next(each.name) or each.name.strip().isdigit()):
            pairs = ((_next_in(group, page, tree), group) for group in _groups_of(each, tree))
            control, group = next(((one, group) for one, group in pairs if one is not None), (None, page))
            if control is not None:
                found.setdefault(control.name, (control, group))
    if len(found) != 1:
        return None
    ((control, group),) = found.values()
    inside = {each.id for each in tree.below(group)}
    if control.name.casefold() in {name.casefold() for name in banned}:
        return None
    return None if any(_is_to_fill_in(each) and each.id not in inside for each in parts) else control


def _is_to_fill_in(element: Element) -> bool:
    """Return whether an element is a field of a form. A field to search or filter a list does not count."""
    is_field = element.role in FIELDS and READ_ONLY not in element.states
    return is_field and not SEARCH.search(element.name or element.value or "")


def _is_next(name: str) -> bool:
    plain = name.casefold().strip(SIGNS + "\xa0")
    return plain in NEXT if plain else name.strip() in NEXT_SIGNS


def is_usable(element: Element) -> bool:
    """Return whether a control is not disabled."""
    return bool(element.states & {"sensitive", "enabled"})


def _groups_of(control: Element, tree: ElementTree) -> Iterator[Element]:
    """Yield the ancestors of a control that contain controls of a pager only, the innermost first."""
    for above in tree.ancestors(control)[:MOST_UP]:
        inside = [*tree.below(above)]
        is_other = above.role in TABLES or any(each.role in TABLES for each in inside)
        pressables = [each for each in inside if each.role in PRESSABLE]
        if is_other or above.role in ("document", "window") or not all(map(_is_of_pager, pressables)):
            return
        yield above


def _is_of_pager(element: Element) -> bool:
    plain = " ".join(element.name.casefold().split()).strip(SIGNS + "\xa0")
    return plain in NEXT or OTHERS.fullmatch(plain) is not None


def _numbers(group: Element, tree: ElementTree) -> list[tuple[int, Element]]:
    """Return the numbers in a group in their order, each with its control, or with its text."""
    found = []
    for each in tree.below(group):
        plain = re.sub(r"^(go to )?page ", "", each.name.casefold().strip())
        above = tree.parent(each)
        is_part = above is not None and above.role in PRESSABLE
        if plain.isdigit() and not is_part and (each.role in PRESSABLE or not tree.children(each)):
            found.append((int(plain), each))
    return found


def _texts(group: Element, tree: ElementTree) -> Iterator[str]:
    yield from (each.name for each in (group, *tree.below(group)) if each.name)


def _next_in(group: Element, page: Element, tree: ElementTree) -> Element | None:
    """Return the control of a group that leads to the next page, if the group is a pager."""
    texts = [*_texts(group, tree)]
    if any(map(WIZARD.search, texts)):
        return None
    numbers = _numbers(group, tree)
    links = [each for _, each in numbers if each.role in PRESSABLE]
    if len(numbers) > MOST_NUMBERS:
        return None
    follow = any(b[0] == a[0] + 1 for a, b in itertools.pairwise(numbers)) and bool(links)
    named = any(NAMED.search(each.name) for each in (group, *tree.ancestors(group)) if each.role != "document")
    ranged = any(map(OF.search, texts))
    controls = [each for each in tree.below(group) if each.role in PRESSABLE and _is_next(each.name)]
    if controls:
        singles = [each for each in controls if each.name.strip() != "»"] or controls
        sure = follow or named or ranged or (singles[0].role == "link" and _counts_pages(texts, page, tree))
        return singles[0] if len(singles) == 1 and sure and is_usable(singles[0]) else None
    only_links = all(each.role == "link" for each in links)
    return _number_after(numbers) if (follow and only_links) or named else None


def _counts_pages(texts: list[str], page: Element, tree: ElementTree) -> bool:
    """Return whether a group says such as “Page 1 of 5”, on a page without anything to choose."""
    chosen = {"radio button", "combo box", "check box"}
    return any(map(PAGE_OF.search, texts)) and not any(each.role in chosen for each in tree.below(page))


def _number_after(numbers: list[tuple[int, Element]]) -> Element | None:
    """Return the control of the number after the current one. The current one is a text, or has the state active."""
    current = [number for number, each in numbers if each.role not in PRESSABLE]
    current = current or [number for number, each in numbers if each.states & {"active", "selected", "pressed"}]
    if len(current) != 1:
        return None
    found = [each for number, each in numbers if number == current[0] + 1 and each.role in PRESSABLE]
    return found[0] if len(found) == 1 and is_usable(found[0]) else None
