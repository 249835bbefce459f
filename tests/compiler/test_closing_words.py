"""Words that close a notice, and topics of notices, in several languages; words of a task's own dialogs are neither."""

from __future__ import annotations

import pytest

from holo_tasks.compiler.closing_words import agrees_to, closes, folded, has_topic, topic_words
from holo_tasks.compiler.overlays import name_of

NOTICES = {
    "de": ("Tipp des Tages: Notizen lassen sich sortieren", "Hinweis schließen"),
    "de cookies": ("Diese Seite verwendet Cookies", "Alle akzeptieren"),
    "de session": ("Ihre Sitzung läuft in 60 Sekunden ab", "Angemeldet bleiben"),
    "fr": ("Le saviez-vous ?", "Fermer"),
    "fr cookies": ("Nous utilisons des cookies", "Tout refuser"),
    "fr update": ("Une mise à jour est disponible", "Me le rappeler plus tard"),
    "es": ("Consejo del día", "Cerrar"),
    "es cookies": ("Esta página utiliza cookies", "Aceptar todas"),
    "es session": ("Su sesión caducará en 60 segundos", "Prolongar la sesión"),
    "it": ("Suggerimento del giorno", "Chiudi"),
    "it cookies": ("Questo sito utilizza i cookie", "Rifiuta tutti"),
    "nl": ("Wist u dat u notities kunt sorteren?", "Begrepen"),
    "nl cookies": ("Deze site gebruikt cookies", "Alles weigeren"),
    "pt": ("Dica do dia", "Fechar"),
    "pt cookies": ("Utilizamos cookies", "Aceitar todos os cookies"),
    "pl": ("Porada dnia", "Zamknij poradę"),
    "pl cookies": ("Ta strona używa plików cookie", "Zaakceptuj wszystkie"),
    "pl session": ("Twoja sesja wygaśnie za 60 sekund", "Przedłuż sesję"),
}
DIALOGS = [
    *(("Die Rechnung ist schon gebucht", "OK"), ("Sollen die Änderungen gespeichert werden?", "Speichern")),
    *(("Der Kunde ist gesperrt", "Weiter"), ("Die Sitzung vom 3. Mai wurde gelöscht", "Löschen")),
    *(("Voulez-vous enregistrer la commande ?", "Enregistrer"), ("Le client est bloqué", "Continuer")),
    *(("El pedido ya existe", "Aceptar"), ("¿Eliminar la factura?", "Eliminar"), ("Cerrar el pedido", "Cerrar pedido")),
    *(("La fattura è vuota", "Continua"), ("Annullare l'ordine?", "Annulla"), ("Chiusura del mese", "Chiudi mese")),
    *(("De order is al geboekt", "Doorgaan"), ("Factuur verwijderen?", "Verwijderen")),
    *(("O pedido já existe", "Aceitar"), ("Fechar a fatura?", "Fechar fatura"), ("Deseja apagar?", "Apagar")),
    *(("Zamówienie już istnieje", "Dalej"), ("Usunąć fakturę?", "Usuń"), ("Zamknięcie miesiąca", "Zamknij miesiąc")),
    *(("20 boxes of cookies are ordered", "OK"), ("Close the order", "Close order"), ("Ignorer la ligne", "Ignorer")),
    *(("Wiersz ma błąd", "Pomiń"), ("La línea tiene un error", "Omitir"), ("La nueva función está vacía", "Guardar")),
    *(("Vai alla riga", "Salta"), ("De regel is fout", "Overslaan"), ("Die Zeile ist falsch", "Überspringen")),
]
"""Dialogs of a task: their text, and the words on the control that is pressed."""


@pytest.mark.parametrize("name", NOTICES)
def test_a_notice_and_its_control_are_known(name: str) -> None:
    text, control = NOTICES[name]
    assert has_topic(text)
    assert closes(control) or agrees_to(control)


@pytest.mark.parametrize("name", NOTICES)
def test_accents_that_ocr_misses_do_not_matter(name: str) -> None:
    text, control = (folded(each).upper() for each in NOTICES[name])
    assert has_topic(text)
    assert closes(control) or agrees_to(control)


@pytest.mark.parametrize(("text", "control"), DIALOGS)
def test_a_dialog_of_the_task_is_no_notice(text: str, control: str) -> None:
    assert not closes(control)
    assert not has_topic(text)


def test_a_goal_that_names_the_topic_is_recognized_in_its_language() -> None:
    assert "cookies" in set(topic_words("Diese Seite verwendet Cookies"))
    assert "sesion" in set(topic_words("Su sesión caducará en 60 segundos"))
    assert not [*topic_words("Der Kunde ist gesperrt")]


def test_a_name_has_no_accents() -> None:
    assert name_of("¿Sabías que…?") == "sabias-que"
