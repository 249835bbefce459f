"""Recognize messages that say that something failed, in eight languages.

Texts are compared without case and accents. A message has at least two words, because a single one may be a label.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

_FAILS: Mapping[str, str] = {
    "en": r"failed( to)?|failure|errors?|cannot|unable to|(could|can|did|was|were|has|have|is|are)( ?not|n.t) (be )?"
    r"(been )?(save|store|sen[dt]|find|found|open|written|write|creat|chang|updat|delet|complet|execut|accept|allow|"
    r"valid|possible|mov|cop|exist)\w*|invalid|(access|permission) denied|no such|aborted|exception",
    "de": r"fehlgeschlagen|fehler|gescheitert|(konnte|kann|konnten|wurde|wurden)\b.{0,60}\bnicht|ungultige?\w*|"
    r"nicht (gespeichert|gefunden|moglich|erlaubt|zulassig|gesendet)|zugriff verweigert|abgebrochen",
    "fr": r"echoue?e?s?|echec|erreurs?|impossible|invalides?|n.(a|ont|est) pas (ete |pu )?\w+|acces refuse",
    "es": r"fallo|fallado|fallid[oa]|error(es)?|no se (pudo|puede|ha podido)|(in|no )valid[oa]s?|acceso denegado",
    "it": r"fallit[oa]|errori?|impossibile|non (e stato|puo|valid[oa]|riuscit[oa])|accesso negato",
    "nl": r"mislukt|fouten?|(kan|kon)\b.{0,60}\bniet|ongeldige?|toegang geweigerd",
    "pt": r"falhou|falha|erros?|nao foi possivel|invalid[oa]s?|acesso negado",
    "pl": r"nie (udalo|mozna|powiodlo)\b.*|blad|bledy|nieprawidlow\w+|odmowa dostepu",
}
_NONE = re.compile(
    r"\b(no|not any|without( any)?|0|zero|keine?|ohne|sans|aucune?|sin|ningun|senza|nessun|geen|zonder|sem|nenhum|bez|"
    r"brak)\W+(errors?|failures?|exceptions?|fehler|erreurs?|errores|errori?|fouten?|erros?|bledow)\b|"
    r"\b(errors?|failures?|fehler|erreurs?|errores|errori|fouten|erros|failed|bledy)\W+(0|none|keine)\b"
)
_FAILURE = re.compile(rf"\b({'|'.join(_FAILS.values())})\b")


def says_failure(text: str) -> bool:
    """Return whether a text is a message that something failed. ``No errors`` and a single word are none."""
    parts = unicodedata.normalize("NFKD", text.casefold().translate(str.maketrans("ł", "l")))
    plain = _NONE.sub(" ", "".join(each for each in parts if not unicodedata.combining(each)))
    return len(re.findall(r"[^\W\d_]+", plain)) > 1 and _FAILURE.search(plain) is not None
