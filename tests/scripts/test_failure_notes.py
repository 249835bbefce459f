"""A playbook does not answer while a new text of the program says that something failed."""

from __future__ import annotations

import pytest

from holo_tasks.compiler.answers import RecordedAnswer, errors_at_end
from holo_tasks.contract.wire_messages import Turn
from holo_tasks.core.elements.elements import SHOWING, Element, ElementTree
from holo_tasks.core.screen.geometry import Box, Size
from holo_tasks.core.texts.failure_words import says_failure
from holo_tasks.scripts.failure_notes import FailureNotes
from holo_tasks.scripts.playbook import parse_playbook
from holo_tasks.scripts.playbook_brain import DoesNotFit, PlaybookBrain
from holo_tasks.scripts.rules import Decision
from holo_tasks.scripts.script_view import ScreenReader
from holo_tasks.vision.screen_text import Line, Sight
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
        *("M-1006 was not renewed: the ledger is locked", "Service of D-1 could not be booked", "It was not shipped."),
        *("The file can't be opened", "Order 12 can’t be shipped", "The change could not be undone"),
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
        *("Imported 3 of 5 items", "Saved 0 of 1", "Saved 0/1", "3 of 5 records were saved", "Saved 3/5 records"),
        *("Saved 3/5", "3/5 saved", "3/5 records saved", "Records saved: 3 of 5", "Only 3 of 5 records saved"),
        *("Updated 3/5 orders", "Saved successfully 3 of 5", "Sent to 1 of 3 recipients"),
        *("Rows matched: 1 Changed: 0 Warnings: 0", "Import of 12 rows: 0 created, 12 rejected"),
        *("Imported 3 of 1,000 items", "3 von 5 Datensätzen gespeichert", "Result: 3 of 5 rows imported"),
        *("Order 1002: 0 rows updated", "5 records processed, 0 saved", "Updated 0 rows in 12 ms"),
        *("No discount applied", "Guardado, salvo el importe", "Guardado exceto o valor", "Salvo exceto o valor"),
        *("Saved nothing: the disk is full", "Gespeichert nichts", "Zapisano nic"),
        *("Saved no records", "Importiert keine Datensätze"),
        *("Ihre Änderungen wurden verworfen", "Der Antrag wurde abgelehnt", "La commande a été refusée"),
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
        *("Last updated 3/12/2026", "Last modified: 03/15/2026", "Changes saved on 11/29", "Erstellt am 3/12/2026"),
        *(
            "Created on 05/11/2026 by Anna",
            "Last saved 11/29",
            "Updated 11/29",
            "Draft saved 03/15",
            "Room booked 3/12",
            "Draft saved 5/12 10:30",
        ),
        *("3/12: order created", "Record 1 of 12 updated", "Record 3 of 5 saved", "Added row 3 of 5"),
        *("Record #3 of 5 saved", "Record no. 3 of 5 saved", "Saved 3/3 records"),
        *("5 created, 0 updated, 0 deleted", "5 rows inserted, 0 deleted", "Created 0, updated 5"),
        *("Saved (0 warnings)", "Saved. 0 unsaved changes", "Rows matched: 1 Changed: 1 Warnings: 0"),
        *("Updated 0 minutes ago", "Created 0 minutes ago", "Vor 0 Minuten aktualisiert", "Last updated 0:30"),
        *("Added 0.5 kg", "Balance updated 0.00", "Version 2.0 saved", "Discount of 0 % saved", "Item R-0 saved"),
        *("Order created with no discount applied", "Registro criado e salvo com sucesso"),
        *("Registro importado e salvo com sucesso", "This field is required"),
        *("Order 1002 was cancelled", "Bestellung wurde storniert", "Successfully cancelled"),
        *("Der Entwurf wurde verworfen", "La commande a été annulée", "El pedido fue cancelado"),
        *("Ordine annullato correttamente: stato annullato", "De bestelling is geannuleerd", "O pedido foi cancelado"),
        *("Reminder sent No", "Created No Name Status", "Attachments sent None", "Anhänge gesendet Keine"),
        *("Added no-reply address", "Sent no later than Monday", "Pièces envoyées aucune", "Changes made none"),
        *("Saved no. 12", "Created: none, updated: 5", "Nothing Compares was played"),
        *("Zamówienie zostało anulowane", "The draft was discarded", "The step was skipped"),
        *("The bill was not printed yet", "The order is not paid", "Was not counted in the total"),
        *("Delete AB-12? This cannot be undone.", "This action can't be reversed", "It can not be undone."),
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


@pytest.mark.parametrize(
    ("allowed", "answers_then"),
    [
        *(("false", False), ("true", True), ("[]", False)),
        ("['Execution finished with errors. Result: no such table: {statement}']", True),
        ("['Execution finished with errors. Result: database is locked']", False),
        ("['Execution finished with errors.']", False),
    ],
)
async def test_a_playbook_answers_only_if_nothing_failed_or_the_recording_had_the_same_message(
    allowed: str, answers_then: bool
) -> None:
    values = {"statement": "nota"}
    brain = PlaybookBrain(parse_playbook(TEXT.format(allowed=allowed)), "run", values, ScreenReader(None))
    answer, press = (rule.do[-1] for rule in brain.rules)
    presses = Decision(step("hotkey", keys=["enter"], repeat_count=1), "", press, rule="step-1")
    answers = Decision(step("answer", content="done"), "", answer, rule="step-2")
    await decided(brain, presses, seen())
    brain._past = [Turn("hotkey", press.thought, {})]
    await decided(brain, answers, seen(("label", "Execution finished without errors.")))
    if answers_then:
        await decided(brain, answers, seen(("label", FAILED)))
        return
    with pytest.raises(DoesNotFit, match=r"the program now says ‘Execution finished with errors."):
        await decided(brain, answers, seen(("label", FAILED)))


def shown(*texts: str, gap: int = 4) -> Sight:
    return Sight(
        tuple(Line(text, Box(20, 20 + (16 + gap) * n, 80, 16)) for n, text in enumerate(texts)), Size(400, 300)
    )


@pytest.mark.parametrize(
    ("texts", "errors"),
    [
        pytest.param(("No such table: nota",), ["No such table: {name}"], id="a value"),
        pytest.param(("Imported 9 of 10 items",), ["Imported 9 of 10 items"], id="a count"),
        pytest.param(("Errore 13: scrittura non riuscita",), ["Errore 13: scrittura non riuscita"], id="an error"),
        pytest.param(("Failed: HTTP 404",), ["Failed: HTTP 404"], id="a code"),
        pytest.param(("2026-11-29T12:03:44 It failed",), ["*T* It failed"], id="a moment"),
        pytest.param(("Failed after 3 seconds, 0,5 s late",), ["Failed after * seconds, * s late"], id="durations"),
        pytest.param(("5 sections failed",), ["5 sections failed"], id="no duration"),
        pytest.param(
            ("Execution failed in 1.5 s:", "the table is locked"),
            ["Execution failed in * s:", "Execution failed in * s: the table is locked"],
            id="two lines",
        ),
        pytest.param(
            ("The document", "could not be saved."),
            ["The document could not be saved.", "could not be saved."],
            id="the failure in the second line",
        ),
        pytest.param(
            ("It failed, because", "the folder is missing.", "Folder:"),
            [
                "It failed, because",
                "It failed, because the folder is missing.",
                "It failed, because the folder is missing. Folder:",
            ],
            id="a label below a message",
        ),
        pytest.param(("Stored without errors", "Old error in form"), [], id="no failure, and an old one"),
    ],
)
def test_the_messages_of_failures_at_the_end_of_a_recording_are_known(
    texts: tuple[str, ...], errors: list[str]
) -> None:
    first = shown("Old error in form")
    assert errors_at_end(first, RecordedAnswer("done", shown(*texts), {"name": "nota"})) == errors


def test_a_text_far_below_a_message_is_none_of_its_lines() -> None:
    recorded = RecordedAnswer("done", shown("Execution failed:", "Ready", gap=40), {})
    assert errors_at_end(shown(), recorded) == ["Execution failed:"]


def step(tool: str, **arguments: object) -> dict[str, object]:
    return {"note": None, "thought": "I go on.", "tool_call": {"tool_name": tool, **arguments}}
