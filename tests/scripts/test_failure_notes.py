"""A playbook does not answer while a new text of the program says that something failed."""

from __future__ import annotations

import pytest

from holo_tasks.contract.wire_messages import Turn
from holo_tasks.core.elements.elements import SHOWING, Element, ElementTree
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.core.texts.failure_words import says_failure
from holo_tasks.scripts.failure_notes import FailureNotes
from holo_tasks.scripts.playbook import parse_playbook
from holo_tasks.scripts.playbook_brain import DoesNotFit, PlaybookBrain
from holo_tasks.scripts.rules import Decision
from holo_tasks.scripts.script_view import ScreenReader
from holo_tasks.vision.screen_text import Sight
from tests.support.deciding import decided

TEXT = """
name: statements
goals:
  run:
    params: {{statement: text}}
    steps:
      - hotkey: [ctrl, enter]
      - answer: done
        allow_errors: {allowed}
"""
FAILED = "Execution finished with errors. Result: no such table: nota"


def seen(*texts: tuple[str, str]) -> Sight:
    """Return a window with elements of some roles and texts. ``list`` and ``field`` hold contents."""
    shown = frozenset({SHOWING})
    elements = [
        Element(0, "window", "Shop", shown, Box(0, 0, 400, 300), -1, "shop", 1),
        Element(1, "table", "", shown, Box(0, 0, 400, 100), 0, "shop", 1),
    ]
    for number, (role, text) in enumerate(texts, 2):
        states = shown | ({"editable"} if role == "field" else set())
        box, parent = Box(0, 20 * number, 400, 20), 1 if role == "cell" else 0
        kind = {"field": "text field", "cell": "label"}.get(role, role)
        elements.append(Element(number, kind, "", states, box, parent, "shop", 1, value=text))
    return Sight((), Size(400, 300), elements=ElementTree((*elements,), (), complete=True))


def found(before: Sight, now: Sight, **values: str) -> str:
    notes = FailureNotes(values)
    assert not notes.new(before)
    return notes.new(now)


def test_a_new_message_of_a_failure_is_found() -> None:
    assert found(seen(), seen(("text field", FAILED))) == FAILED
    assert found(seen(("label", "Could not load 1 image")), seen(("label", FAILED))) == FAILED


@pytest.mark.parametrize("role", ["cell", "field", "button", "menu item"])
def test_contents_and_controls_are_no_messages(role: str) -> None:
    assert not found(seen(), seen((role, FAILED)))


def test_a_message_that_was_there_or_a_word_of_the_item_is_none() -> None:
    assert not found(seen(("label", FAILED)), seen(("label", FAILED)))
    assert not found(seen(), seen(("label", "Note error in form saved")), note="error in form")
    assert not found(Sight((), Size(400, 300)), seen(("label", FAILED)))  # the first screen with elements is the first


@pytest.mark.parametrize(
    "text",
    [
        *("The supplier could not be saved due to errors.", "Payment failed", "Access denied: Permission denied"),
        *("Changed successfully? Error 12", "Cannot write the file", "The date is invalid", "File wasn't saved."),
        *("Der Eintrag konnte nicht gespeichert werden", "Ungültiges Datum", "Speichern fehlgeschlagen"),
        *("Échec de la connexion", "No se pudo guardar", "Impossibile salvare", "Opslaan is mislukt"),
        *("Não foi possível salvar", "Nie można zapisać pliku", "Accès refusé"),
    ],
)
def test_words_of_a_failure(text: str) -> None:
    assert says_failure(text)


@pytest.mark.parametrize(
    "text",
    [
        *("Saved 0 of 1 records", "0 rows updated", "Records saved: 0", "Imported 3 of 5 items, 2 skipped"),
        *("No changes were saved", "Nothing was saved", "Not saved", "Record CD-33 not saved", "Order not updated"),
        *("Successfully rejected", "The invoice was declined", "Your changes have been discarded"),
        *(
            "Your changes were saved except for the amount",
            "Partially saved",
            "An order with this number already exists",
        ),
        *("Nichts gespeichert", "0 Datensätze gespeichert", "Erfolgreich abgelehnt", "Rien enregistré"),
        *("Non enregistré", "No guardado", "Non salvato", "Niet opgeslagen", "Não guardado", "Nie zapisano"),
    ],
)
def test_words_of_a_success_may_say_that_nothing_was_done(text: str) -> None:
    assert says_failure(text)


@pytest.mark.parametrize(
    "text",
    [
        *("Saved 1 of 1 records", "10 of 10 records saved", "Step 2 of 5 saved", "Saved 1 record, 0 failed"),
        *("All changes saved", "No unsaved changes", "No saved searches", "Invoice No. 1002 saved", "Saved 10 records"),
        *("3 of 5 selected", "1 of 12 checked", "Status: rejected", "Rejected orders", "Saved without errors"),
        *("Alle 3 Änderungen gespeichert", "Enregistré avec succès", "Guardado correctamente"),
    ],
)
def test_words_of_a_success_say_that_it_was_done(text: str) -> None:
    assert not says_failure(text)


@pytest.mark.parametrize(
    "text",
    [
        *("Execution finished without errors.", "0 errors, 2 warnings", "No errors were found", "Errors: 0"),
        *("Errors", "Saved as R-12", "Not paid yet", "Ohne Fehler gespeichert", "The order was changed successfully."),
        *("Terror in the night", "You have not read 3 messages", "Enregistré sans erreur"),
    ],
)
def test_words_of_no_failure(text: str) -> None:
    assert not says_failure(text)


@pytest.mark.parametrize("allowed", [False, True])
async def test_a_playbook_answers_only_if_nothing_failed_or_the_recording_did_so_too(allowed: bool) -> None:
    brain = PlaybookBrain(parse_playbook(TEXT.format(allowed=str(allowed).lower())), "run", {}, ScreenReader(None))
    answer, press = (rule.do[-1] for rule in brain.rules)
    presses = Decision(step("hotkey", keys=["enter"], repeat_count=1), "", press, rule="step-1")
    answers = Decision(step("answer", content="done"), "", answer, rule="step-2")
    await decided(brain, presses, seen())
    brain._past = [Turn("hotkey", press.thought, {})]
    await decided(brain, answers, seen(("label", "Execution finished without errors.")))
    if allowed:
        await decided(brain, answers, seen(("label", FAILED)))
        return
    with pytest.raises(DoesNotFit, match=r"the program now says ‘Execution finished with errors."):
        await decided(brain, answers, seen(("label", FAILED)))


def step(tool: str, **arguments: object) -> dict[str, object]:
    return {"note": None, "thought": "I go on.", "tool_call": {"tool_name": tool, **arguments}}
