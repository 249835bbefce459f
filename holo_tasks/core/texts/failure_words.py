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
    "en": r"failed( to)?|failure|errors?|can(not| not|\Wt)(?! be (undone|reversed|reverted)\b)|unable to|"
    r"(could|did|was|were|has|have|is|are)( ?not|n.t) (be )?"
    r"(been )?(save|store|sen[dt]|find|found|open|written|write|creat|chang|updat|delet|complet|execut|accept|allow|"
    r"valid|possible|mov|cop|exist)\w*|invalid|"
    r"could( ?not|n.t) be \w+(ed|en|ne|id|nt)|"
    r"((was|were)( not|n.t)|(has|have|had) not been) \w+ed(?= *([.,:;!(]|$|because|due to))|"
    r"could(n.t| not) (be )?(reach|connect|read|appl|add|insert|record|process)\w*|"
    r"(access|permission) denied|no such|aborted|exception|already exists?|duplicate (entry|key|value|record)|"
    r"not (permitted|authori[sz]ed)|session (has )?expired|timed out|rolled back|"
    r"changes (were|have been) (discarded|lost|reverted|undone)",
    "de": r"fehlgeschlagen|fehler|gescheitert|(konnte|kann|konnten|wurde|wurden)\b.{0,60}\bnicht|ungultige?\w*|"
    r"nicht (gespeichert|gefunden|moglich|erlaubt|zulassig|gesendet)|zugriff verweigert|abgebrochen|"
    r"existiert bereits|bereits vorhanden|anderungen (wurden|gingen) (verworfen|verloren)",
    "fr": r"echoue?e?s?|echec|erreurs?|impossible|invalides?|n.(a|ont|est) pas (ete |pu )?\w+|acces refuse|"
    r"existe deja|modifications ont ete (abandonne|annule|perdu)es",
    "es": r"fallo|fallado|fallid[oa]|error(es)?|no se (pudo|puede|ha podido)|(in|no )valid[oa]s?|acceso denegado|"
    r"ya existe|cambios (se han|han sido|fueron) (descartad|perdid)os?",
    "it": r"fallit[oa]|errori?|impossibile|non (e stato|puo|valid[oa]|riuscit[oa])|accesso negato|esiste gia|"
    r"modifiche sono state (annullate|scartate)",
    "nl": r"mislukt|fouten?|(kan|kon)\b.{0,60}\bniet|ongeldige?|toegang geweigerd|bestaat al|"
    r"wijzigingen (zijn|werden) (geannuleerd|verworpen)",
    "pt": r"falhou|falha|erros?|nao foi possivel|invalid[oa]s?|acesso negado|ja existe|"
    r"alteracoes foram (descartad|perdid)as",
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
        r"rejected|declined|refused|denied",
        r"except|apart from|partially|partly|but not",
    ),
    _Words(
        r"gespeichert|geandert|angelegt|erstellt|aktualisiert|geloscht|gesendet|importiert|ubernommen|gebucht",
        r"gespeichert|ubernommen|angelegt|gebucht",
        r"nichts|keine?|kein(e[mnr])",
        r"nicht",
        r"wurden?|worden|erfolgreich",
        r"abgelehnt|verweigert|zuruckgewiesen",
        r"ausser|ausgenommen|bis auf|teilweise",
    ),
    _Words(
        r"(enregistre|modifie|cree|ajoute|supprime|importe|sauvegarde)e?s?|envoyee?s?",
        r"(enregistre|sauvegarde)e?s?",
        r"aucune?|rien",
        r"non|pas( ete)?",
        r"ete|avec succes",
        r"(rejete|refuse)e?s?",
        r"sauf|excepte|partiellement",
    ),
    _Words(
        r"(guardad|modificad|cread|anadid|eliminad|enviad|importad|actualizad)[oa]s?",
        r"(guardad|grabad)[oa]s?",
        r"ningun[oa]?|nada",
        r"no( se ha)?",
        r"sido|fue|fueron|correctamente",
        r"(rechazad|denegad)[oa]s?",
        r"excepto|salvo (el|la|los|las)|parcialmente",
    ),
    _Words(
        r"(salvat|modificat|creat|aggiunt|eliminat|inviat|importat|aggiornat)[oaie]",
        r"(salvat|memorizzat)[oaie]",
        r"nessun[oa]?|niente",
        r"non",
        r"stat[oaie]|correttamente",
        r"(rifiutat|respint)[oaie]",
        r"tranne|eccetto|parzialmente",
    ),
    _Words(
        r"opgeslagen|gewijzigd|aangemaakt|toegevoegd|verwijderd|verzonden|geimporteerd|bijgewerkt",
        r"opgeslagen|bewaard|verwerkt",
        r"niets|geen",
        r"niet",
        r"is|zijn|werd|werden|succesvol",
        r"geweigerd|afgewezen",
        r"behalve|uitgezonderd|gedeeltelijk",
    ),
    _Words(
        r"(salv|guardad|gravad|alterad|criad|adicionad|removid|enviad|importad|atualizad)[oa]s?",
        r"(salv|guardad|gravad)[oa]s?",
        r"nenhuma?|nada",
        r"nao( foi| foram)?",
        r"foi|foram|sido|com sucesso",
        r"(rejeitad|recusad)[oa]s?",
        r"exceto|excepto|parcialmente",
    ),
    _Words(
        r"(zapisan|zmienion|utworzon|dodan|usuniet|wyslan|zaimportowan|zaktualizowan)\w*",
        r"(zapisan|zmienion|wyslan)\w*",
        r"nic|zad(en|n\w*)",
        r"nie( zostal\w*)?",
        r"zostal\w*|pomyslnie",
        r"(odrzucon|odmowion)\w*",
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
_NOT_WITH = "".join(rf"(?<!\b{word} )" for word in ("with", "mit", "avec", "con", "met", "com", "z"))
"""Not after such a word, as in ``Order created with no discount applied``."""
_NOTHING = "nothing|nichts|rien|nada|niente|niets|nic"
_THINGS = (
    r"records?|items?|rows?|files?|entries|lines?|changes|datensatze?n?|eintrage|zeilen|lignes|elements|"
    r"registros|filas|righe|elementi|rijen|regels|linhas|itens|rekord\w*|wiersz\w*|pozycj\w*"
)
_NOT_DONE = re.compile(
    "|".join(
        rf"{_NOT_WITH}\b({words.none})\b{_NEAR}\b({words.done})\b|\b({words.no}) ({words.stored})\b|"
        rf"\b({words.done}) ({_NOTHING})\b|\b({words.done}) ({words.none}) ({_THINGS})\b|"
        rf"\b({words.was}) ({words.refused})\b|\b({words.stored}) ({words.refused})\b|"
        rf"\b({words.done})\b.{{0,200}}\b({words.but})\b|\b({words.but}) ({words.done})\b"
        for words in _WORDS
    )
)
_NEGATED = re.compile(
    r"\b(not|nothing|none|nicht|nichts|keine?|pas|rien|aucune?|nada|niente|nessun[oa]?|niet|niets|geen|nao|nenhuma?|nie|nic)\b|"
    rf"\w(n't|n’t)\b|^\W*no\b(?!\.|\W*\d)|\b({'|'.join(words.refused for words in _WORDS)})\b"
)
"""A negation or a refusal in an expected text. *No* may be the word before a number, unless the text begins with it."""
_COMPLETED = f"(?:{'|'.join(words.done for words in _WORDS)})"
_DONE = re.compile(rf"\b{_COMPLETED}\b")
_ZERO = (
    r"(?<![\w.,/#$€£-])(?<!\bvor )(?<!\bil y a )(?<!\bhace )(?<!\bha )"
    r"0(?![.,:/]?\d)(?! ?[%$€£])(?! \w+ (?:ago|geleden|fa|temu|atras)\b)\b"
)
"""A count of nothing: no part of a number, of a time or of an amount, and not as in ``Updated 0 minutes ago``."""
_NONE_DONE = re.compile(rf"{_ZERO}{_NEAR}\b{_COMPLETED}\b|\b{_COMPLETED}:? {_ZERO}")
_SOME_DONE = re.compile(
    rf"(?:^|[,;:.(]|\b(?:and|und|et|y|e|en|i)\b) ?[1-9]\d*(?: \w+){{0,2}} (?!processed|uploaded){_COMPLETED}\b(?!:)|"
    rf"\b(?!processed|uploaded){_COMPLETED}:? [1-9]\d*\b(?! ?/)"
)
"""A count of things that were done, as in ``5 created, 0 updated``."""
_COUNTED = re.compile(
    r"(?<![\w.,/#])(?:(?P<before>(?:no|nr)\.|\w+:?) )?(?P<part>\d+(?:[.,]\d{3})*)"
    r" ?(?P<of>/|of|out of|von|de|sur|di|van|z|ze) ?(?P<all>\d+(?:[.,]\d{3})*)\b(?!/|,? \d\d?:\d\d)"
    rf"(?P<things> (?:{_THINGS}|[a-z]{{3,}}s|{_COMPLETED})\b)?"
)
_BEFORE_COUNTS = re.compile(
    r"to|an|only|just|successfully|erfolgreich|nur|seulement|solo|slechts|alleen|apenas|somente|tylko|[^:]*:|"
)
"""The words that may be before a count, in addition to a word such as *saved*: nothing, or a word with a colon."""
_DATED = re.compile(
    rf"\b(?:last|zuletzt|derniere?|ultima|ultimo|laatst|ostatnio) {_COMPLETED}\b|"
    r"\b(?:created|updated|modified|changed|booked|gebucht|erstellt|geandert|aktualisiert|(?:modifie|cree)e?s?|"
    r"(?:modificad|cread|modificat|creat|alterad|criad|atualizad)[oaie]s?|aangemaakt|gewijzigd|bijgewerkt|"
    r"(?:utworzon|zmienion)\w*):? \d"
)
"""Words before the day of a change, as in ``Last saved 11/29`` and ``Updated 11/29``."""


def without_accents(text: str) -> str:
    """Return a text on one line, without case and accents."""
    parts = unicodedata.normalize("NFKD", text.casefold().translate(str.maketrans("ł", "l")))
    return " ".join("".join(each for each in parts if not unicodedata.combining(each)).split())


def says_failure(text: str) -> bool:
    """Return whether a text is a message that something failed or was not done.

    ``No errors`` and a single word are none, but ``Saved 0/1`` is one.
    """
    plain = _NONE.sub(" ", without_accents(text))
    if _counts_fewer(plain):
        return True
    is_label = len(re.findall(r"[^\W\d_]+", plain)) < 2
    return not is_label and bool(_FAILURE.search(plain) or _NOT_DONE.search(plain) or _counts_none(plain))


def expects_failure(label: str) -> bool:
    """Return whether an expected text, whose ``*`` stands for any words, may be a message of a failure or of nothing.

    A single word such as *Failed* or *Errors* is one here, because other words follow it.
    """
    text = label.replace("*", " x ")
    return says_failure(text) or bool(_NEGATED.search(without_accents(text)))


def _counts_none(plain: str) -> bool:
    """Return whether a text says that nothing was done, as in ``0 rows updated``, and counts nothing else as done."""
    return _NONE_DONE.search(plain) is not None and _SOME_DONE.search(plain) is None


def _counts_fewer(plain: str) -> bool:
    """Return whether a text says that fewer things were done than there are, as in ``Imported 3 of 5 items``."""
    return _DONE.search(plain) is not None and any(_is_fewer(found, plain) for found in _COUNTED.finditer(plain))


def _is_fewer(found: re.Match[str], plain: str) -> bool:
    """Return whether two numbers count fewer things than there are.

    ``Record 3 of 5`` is a place. ``11/29`` may be a date, if no words show that things are counted.
    """
    part, whole = (re.sub(r"\D", "", found[name]) for name in ("part", "all"))
    before = found["before"] or ""
    is_done = _DONE.fullmatch(before.rstrip(":")) is not None
    if int(part) >= int(whole) or not (is_done or _BEFORE_COUNTS.fullmatch(before)):
        return False
    may_be_date = found["of"] == "/" and 1 <= int(part) <= 12 and int(whole) <= 31
    if not may_be_date or found["things"]:
        return True
    return is_done and not part.startswith("0") and _DATED.search(plain) is None
