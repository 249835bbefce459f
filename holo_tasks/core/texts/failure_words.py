"""Recognize messages that say that something failed or was not done, in eight languages.

Some have the words of a success: ``Saved 0 of 1 records``, ``Not saved``, ``Successfully rejected``. Texts are compared
without case and accents. A message has at least two words, because a single one may be a label.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

_FAILS: Mapping[str, str] = {
    "en": r"failed( to)?|failure|errors?|cannot|unable to|(could|can|did|was|were|has|have|is|are)( ?not|n.t) (be )?"
    r"(been )?(save|store|sen[dt]|find|found|open|written|write|creat|chang|updat|delet|complet|execut|accept|allow|"
    r"valid|possible|mov|cop|exist)\w*|invalid|"
    r"could(n.t| not) (be )?(reach|connect|read|appl|add|insert|record|process)\w*|"
    r"(access|permission) denied|no such|aborted|exception|already exists?|duplicate (entry|key|value|record)|"
    r"not (permitted|authori[sz]ed)|session (has )?expired|timed out|rolled back|this field is required",
    "de": r"fehlgeschlagen|fehler|gescheitert|(konnte|kann|konnten|wurde|wurden)\b.{0,60}\bnicht|ungultige?\w*|"
    r"nicht (gespeichert|gefunden|moglich|erlaubt|zulassig|gesendet)|zugriff verweigert|abgebrochen|"
    r"existiert bereits|bereits vorhanden",
    "fr": r"echoue?e?s?|echec|erreurs?|impossible|invalides?|n.(a|ont|est) pas (ete |pu )?\w+|acces refuse|"
    r"existe deja",
    "es": r"fallo|fallado|fallid[oa]|error(es)?|no se (pudo|puede|ha podido)|(in|no )valid[oa]s?|acceso denegado|"
    r"ya existe",
    "it": r"fallit[oa]|errori?|impossibile|non (e stato|puo|valid[oa]|riuscit[oa])|accesso negato|esiste gia",
    "nl": r"mislukt|fouten?|(kan|kon)\b.{0,60}\bniet|ongeldige?|toegang geweigerd|bestaat al",
    "pt": r"falhou|falha|erros?|nao foi possivel|invalid[oa]s?|acesso negado|ja existe",
    "pl": r"nie (udalo|mozna|powiodlo)\b.*|blad|bledy|nieprawidlow\w+|odmowa dostepu|juz istnieje",
}


@dataclass(frozen=True)
class _Words:
    """Patterns of the words of one language. ``done`` says that a thing was done, ``stored`` that it was kept.

    ``none`` counts nothing, ``was`` and ``refused`` say that a thing was refused, ``but`` begins an exception.
    """

    done: str
    stored: str
    none: str
    no: str
    was: str
    refused: str
    but: str


_WORDS = (
    _Words(
        r"saved|stored|updated|changed|created|added|deleted|removed|sent|imported|exported|uploaded|processed|inserted|"
        r"modified|affected|written|recorded|applied|moved|copied|posted|booked|made",
        r"saved|stored|updated|created|inserted|recorded|applied|accepted|written|successful(ly)?",
        r"nothing|none|no(?!\W*\d)(?!\W+(saved|stored|sent|added|created|imported|recorded)\b)",
        r"not( yet)?( been)?|n.t",
        r"was|were|been|successfully",
        r"rejected|declined|refused|denied|discarded|reverted|undone|cancell?ed|ignored|skipped",
        r"except|apart from|partially|partly|but not",
    ),
    _Words(
        r"gespeichert|geandert|angelegt|erstellt|aktualisiert|geloscht|gesendet|importiert|ubernommen|gebucht",
        r"gespeichert|ubernommen|angelegt|gebucht",
        r"nichts|keine?|kein(e[mnr])",
        r"nicht",
        r"wurden?|worden|erfolgreich",
        r"abgelehnt|verworfen|verweigert|zuruckgewiesen|storniert|ubersprungen",
        r"ausser|ausgenommen|bis auf|teilweise",
    ),
    _Words(
        r"(enregistre|modifie|cree|ajoute|supprime|importe|sauvegarde)e?s?|envoyee?s?",
        r"(enregistre|sauvegarde)e?s?",
        r"aucune?|rien",
        r"non|pas( ete)?",
        r"ete|avec succes",
        r"(rejete|refuse|annule|abandonne|ignore)e?s?",
        r"sauf|excepte|partiellement",
    ),
    _Words(
        r"(guardad|modificad|cread|anadid|eliminad|enviad|importad|actualizad)[oa]s?",
        r"(guardad|grabad)[oa]s?",
        r"ningun[oa]?|nada",
        r"no( se ha)?",
        r"sido|fue|fueron|correctamente",
        r"(rechazad|cancelad|descartad|omitid)[oa]s?",
        r"excepto|salvo|parcialmente",
    ),
    _Words(
        r"(salvat|modificat|creat|aggiunt|eliminat|inviat|importat|aggiornat)[oaie]",
        r"(salvat|memorizzat)[oaie]",
        r"nessun[oa]?|niente",
        r"non",
        r"stat[oaie]|correttamente",
        r"(rifiutat|annullat|scartat|respint|ignorat)[oaie]",
        r"tranne|eccetto|parzialmente",
    ),
    _Words(
        r"opgeslagen|gewijzigd|aangemaakt|toegevoegd|verwijderd|verzonden|geimporteerd|bijgewerkt",
        r"opgeslagen|bewaard|verwerkt",
        r"niets|geen",
        r"niet",
        r"is|zijn|werd|werden|succesvol",
        r"geweigerd|afgewezen|geannuleerd|overgeslagen|verworpen",
        r"behalve|uitgezonderd|gedeeltelijk",
    ),
    _Words(
        r"(salv|guardad|gravad|alterad|criad|adicionad|removid|enviad|importad|atualizad)[oa]s?",
        r"(salv|guardad|gravad)[oa]s?",
        r"nenhuma?|nada",
        r"nao( foi| foram)?",
        r"foi|foram|sido|com sucesso",
        r"(rejeitad|recusad|cancelad|descartad|ignorad)[oa]s?",
        r"exceto|salvo|parcialmente",
    ),
    _Words(
        r"(zapisan|zmienion|utworzon|dodan|usuniet|wyslan|zaimportowan|zaktualizowan)\w*",
        r"(zapisan|zmienion|wyslan)\w*",
        r"nic|zad(en|n\w*)",
        r"nie( zostal\w*)?",
        r"zostal\w*|pomyslnie",
        r"(odrzucon|anulowan|odmowion|pominiet)\w*",
        r"oprocz|z wyjatkiem|czesciowo",
    ),
)
_NONE = re.compile(
    r"\b(no|not any|without( any)?|0|zero|keine?|ohne|sans|aucune?|sin|ningun|senza|nessun|geen|zonder|sem|nenhum|bez|"
    r"brak)\W+(failed|errors?|failures?|exceptions?|fehler|erreurs?|errores|errori?|fouten?|erros?|bledow)\b|"
    r"\b(errors?|failures?|fehler|erreurs?|errores|errori|fouten|erros|failed|bledy)\W+(0|none|keine)\b"
)
_FAILURE = re.compile(rf"\b({'|'.join(_FAILS.values())})\b")
_NEAR = r"[^.;,:!?]{0,40}"
_NOT_DONE = re.compile(
    "|".join(
        rf"\b({words.none}|0)\b{_NEAR}\b({words.done})\b|\b({words.done})\W+0\b|\b({words.no}) ({words.stored})\b|"
        rf"\b({words.was}) ({words.refused})\b|\b({words.stored}) ({words.refused})\b|"
        rf"\b({words.done})\b.*\b({words.but})\b|\b({words.but}) ({words.done})\b"
        for words in _WORDS
    )
)
_DONE = re.compile(rf"\b({'|'.join(words.done for words in _WORDS)})\b")
_COUNTED = re.compile(r"(?<![\w.,])(\w+ )?(\d+) ?(?:/|of|out of|von|de|sur|di|van|z|ze) ?(\d+)\b")
_PLACES = frozenset({"step ", "page ", "part ", "schritt ", "seite ", "etape ", "paso ", "passo ", "stap ", "krok "})
"""Words before a place such as ``Step 2 of 5``, which counts nothing."""


def says_failure(text: str) -> bool:
    """Return whether a text is a message that something failed or was not done.

    ``No errors`` and a single word are none.
    """
    parts = unicodedata.normalize("NFKD", text.casefold().translate(str.maketrans("ł", "l")))
    plain = _NONE.sub(" ", "".join(each for each in parts if not unicodedata.combining(each)))
    if len(re.findall(r"[^\W\d_]+", plain)) < 2:
        return False
    return bool(_FAILURE.search(plain) or _NOT_DONE.search(plain)) or _counts_fewer(plain)


def _counts_fewer(plain: str) -> bool:
    """Return whether a text says that fewer things were done than there are, as in ``Imported 3 of 5 items``."""
    if not _DONE.search(plain):
        return False
    counts = [found for found in _COUNTED.finditer(plain) if found[1] not in _PLACES]
    return any(int(found[2]) < int(found[3]) for found in counts)
