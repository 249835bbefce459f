"""Recognize words that close, agree to, or name the topic of a notice, in eight languages.

Texts are compared without case and accents, which OCR may miss. In any other language only a cross closes something.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping

_CLOSING: Mapping[str, str] = {
    "any": r"x|×|✕|✖",
    "en": r"close( (the )?(tip|hint|window|dialog|banner|message|notice|notification|panel|this))?|dismiss( all)?|"
    r"got it|hide|not now|maybe later|later|skip( (tour|this|for now))?|no,? thanks|remind me later",
    "de": r"((den |die |das |diese[ns]? )?(hinweis|tipp|fenster|dialog|banner|meldung|mitteilung) )?schliessen|"
    r"ausblenden|verstanden|alles klar|nicht jetzt|(vielleicht )?spater( erinnern)?|rundgang uberspringen|nein,? danke",
    "fr": r"fermer( (le |la |l.|ce |cette )?(astuce|conseil|fenetre|dialogue|bandeau|message|notification))?|masquer|"
    r"cacher|(j.ai )?compris|pas maintenant|(peut.etre )?plus tard|passer la visite|non,? merci|"
    r"me le rappeler plus tard",
    "es": r"cerrar( (el |la |este |esta )?(consejo|sugerencia|ventana|dialogo|aviso|mensaje|notificacion))?|ocultar|"
    r"entendido|ahora no|(quizas? )?mas tarde|omitir la visita|no,? gracias|recordar(me|melo)? mas tarde",
    "it": r"chiudi( (il |la |questo |questa )?(suggerimento|finestra|dialogo|banner|avviso|messaggio|notifica))?|"
    r"nascondi|(ho )?capito|non ora|(forse )?piu tardi|salta (il )?tour|no,? grazie|ricordamelo piu tardi",
    "nl": r"((de |het |deze |dit )?(tip|venster|dialoogvenster|banner|melding|bericht) )?sluiten|"
    r"sluit( (tip|venster|dialoog|melding))?|verbergen|begrepen|niet nu|misschien later|rondleiding overslaan|"
    r"nee,? (bedankt|dank (u|je))|herinner me later",
    "pt": r"fechar( (o |a |este |esta )?(dica|janela|dialogo|aviso|mensagem|notificacao))?|ocultar|entendi(do)?|"
    r"agora nao|(talvez )?mais tarde|(pular|saltar) o tour|esconder|nao,? obrigad[oa]|lembrar(.me)? mais tarde",
    "pl": r"zamknij( (to )?(okno|porade|wskazowke|komunikat|powiadomienie|baner))?|ukryj|rozumiem|nie teraz|"
    r"(moze )?pozniej|nie,? dziekuje|przypomnij pozniej",
}
_AGREEING: Mapping[str, str] = {
    "any": r"ok|okay",
    "en": r"continue|understood|i understand|(accept|allow|reject|decline)( all)?( cookies)?|i? ?agree|"
    r"(only )?(necessary|essential)( cookies| only)?|(stay|keep me) (signed|logged) (in|on)|extend( session)?",
    "de": r"weiter|fortfahren|(alle )?(cookies )?(akzeptieren|zulassen|ablehnen)|(ich )?stimme zu|zustimmen|"
    r"einverstanden|(nur )?(notwendige|erforderliche)( cookies)?( akzeptieren| zulassen)?|"
    r"angemeldet bleiben|sitzung verlangern",
    "fr": r"continuer|(tout )?(accepter|autoriser|refuser)( tout| tous| (tous )?les cookies)?|j.accepte|"
    r"(uniquement )?(les )?cookies (necessaires|essentiels)( uniquement)?|rester connecte|prolonger la session",
    "es": r"continuar|(aceptar|permitir|rechazar)( tod[oa]s?)?( (las )?cookies)?|de acuerdo|"
    r"(solo )?(las )?(cookies )?(necesarias|esenciales)|(seguir|permanecer) conectado|(ampliar|prolongar) (la )?sesion",
    "it": r"continua|(accetta|consenti|rifiuta)( tutt[oi])?( i cookie)?|accetto|"
    r"(solo )?(i )?(cookie )?(necessari|essenziali)|resta(re)? connesso|prolunga (la )?sessione",
    "nl": r"doorgaan|(alle |alles )?(cookies )?(accepteren|toestaan|weigeren)|(ik ga )?akkoord|"
    r"(alleen )?(noodzakelijke|essentiele)( cookies)?|(aangemeld|ingelogd) blijven|sessie verlengen",
    "pt": r"continuar|(aceitar|permitir|recusar|rejeitar)( todos| tudo)?( os cookies)?|concordo|"
    r"(apenas |somente )?(os )?(cookies )?(necessarios|essenciais)|(permanecer|manter.me) (conectado|ligado)|"
    r"prolongar (a )?sessao",
    "pl": r"kontynuuj|dalej|(za)?akceptuj( wszystkie| wszystko)?( pliki)?( cookies?)?|odrzuc wszystkie|zgadzam sie|"
    r"(tylko )?niezbedne( pliki)?( cookies?)?|pozostan zalogowan[ya]|przedluz sesje",
}
_TOPICS: Mapping[str, str] = {
    "en": r"tips? of the (day|week)|daily tip|did you know|quick tip|tips (and|&) tricks|"
    r"(uses?|accept|about|our|these|all|necessary) cookies|cookie (settings|policy|consent|preferences|notice)|"
    r"session (will|is|has|is about to)\b.*|session (warning|time-?out)|signed out soon|what.?s new|"
    r"new (version|features?)|updates? (is |are )?available|software update|release notes|newsletter|"
    r"(allow|show|enable|turn on) notifications|survey|rate (us|this)|give (us )?feedback|getting started|"
    r"welcome (to|back)|take a tour",
    "de": r"tipp des tages|wussten sie( schon)?|wusstest du|tipps (und|&) tricks|"
    r"(verwendet|nutzt|verwenden|nutzen|unsere|diese|alle|notwendige) cookies|"
    r"cookie.?(einstellungen|richtlinie|hinweis)|sitzung (lauft|wird|endet|ist)\b.*|was ist neu|"
    r"neue (version|funktionen)|(update|aktualisierung(en)?) (ist |sind )?verfugbar|"
    r"benachrichtigungen (erlauben|zulassen|einschalten)|umfrage|willkommen (bei|zuruck)",
    "fr": r"(astuce|conseil) du jour|le saviez.vous|trucs et astuces|"
    r"(utilise|utilisons|nos|ces|tous les) (des |les )?cookies|(parametres|politique|gestion) (des |de )?cookies|"
    r"session (va|est|expire|expirera)\b.*|quoi de neuf|nouvelles? (version|fonctionnalites?)|"
    r"mises? a jour (est |sont )?disponibles?|infolettre|(autoriser|activer) les notifications|sondage|"
    r"bienvenue (sur|dans)",
    "es": r"(consejo|sugerencia|truco) del dia|sabias? que|"
    r"(usa|utiliza|utilizamos|usamos|nuestras|estas|todas las) cookies|(configuracion|politica|aviso) de cookies|"
    r"sesion (va|caduca|caducara|expira|expirara|esta)\b.*|que hay de nuevo|nueva version|"
    r"actualizacion(es)? disponibles?|boletin|(permitir|activar) (las )?notificaciones|encuesta|"
    r"bienvenid[oa] (a|de nuevo)",
    "it": r"(suggerimento|consiglio) del giorno|lo sapevi|sapevate che|"
    r"(usa|utilizza|utilizziamo|nostri|questi|tutti i) (i )?cookie|(impostazioni|informativa)( sui| dei)? cookie|"
    r"sessione (sta|scade|scadra)\b.*|che cosa c.e di nuovo|nuov[ae] (versione|funzioni|funzionalita)|"
    r"aggiornament[oi] disponibil[ei]|(consenti|attiva) (le )?notifiche|sondaggio|benvenut[oi] (su|in)",
    "nl": r"tip van de dag|wist (u|je) dat|tips en trucs|(gebruikt|gebruiken|onze|deze|alle) cookies|"
    r"cookie.?(instellingen|beleid|voorkeuren|melding)|sessie (verloopt|wordt|zal|is)\b.*|wat is er nieuw|"
    r"nieuwe (versie|functies?)|updates? beschikbaar|nieuwsbrief|meldingen (toestaan|inschakelen)|enquete|"
    r"welkom (bij|terug)",
    "pt": r"dica do dia|sabia que|(usa|utiliza|utilizamos|usamos|nossos|estes|todos os) cookies|"
    r"(configuracoes|definicoes|politica|aviso) de cookies|sessao (vai|expira|expirara|sera)\b.*|"
    r"o que ha de novo|novas? (versao|funcionalidades?)|(atualizacao|atualizacoes) disponive(l|is)|"
    r"boletim|(permitir|ativar) (as )?notificacoes|pesquisa de satisfacao|bem.vind[oa] (a|ao|de volta)",
    "pl": r"(porada|wskazowka) dnia|czy wiesz|(uzywa|uzywamy|wykorzystuje|nasze|wszystkie) (plikow |pliki )?cookies?|"
    r"(ustawienia|polityka)( plikow)? cookies?|sesja (wygasnie|wygasa|zostanie)\b.*|co nowego|nowa wersja|"
    r"nowe funkcje|aktualizacj[ae] (jest |sa )?dostepn[ae]|dostepn[ae] (jest |sa )?aktualizacj[ae]|"
    r"(zezwol na|wlacz) powiadomienia|ankieta|witamy (w|ponownie)",
}
LONG = 5
"""Fewest letters of a word that identifies a topic."""
LETTERS = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "æ": "ae", "œ": "oe"})
"""Letters that have no accent to remove."""


def _any_of(words: Mapping[str, str]) -> str:
    return "|".join(words.values())


_CLOSES = re.compile(rf"\W*({_any_of(_CLOSING)})\W*")
_AGREES = re.compile(rf"\W*({_any_of(_AGREEING)})\W*")
_TOPIC = re.compile(rf"\b({_any_of(_TOPICS)})\b")


def folded(text: str) -> str:
    """Return a text in lower case and without accents."""
    parts = unicodedata.normalize("NFKD", text.casefold().translate(LETTERS))
    return "".join(each for each in parts if not unicodedata.combining(each)).strip()


def closes(words: str) -> bool:
    """Return whether a control with these words only closes something."""
    return _CLOSES.fullmatch(folded(words)) is not None


def agrees_to(words: str) -> bool:
    """Return whether a control with these words also agrees to something. It counts only together with a topic."""
    return _AGREES.fullmatch(folded(words)) is not None


def may_mean_closing(words: str) -> bool:
    """Return whether words begin like those of a control that closes or agrees. This is cheap, and not certain."""
    return any(pattern.match(folded(words)) for pattern in (_CLOSES, _AGREES))


def has_topic(text: str) -> bool:
    """Return whether a text has a topic of the notices that programs and pages show by themselves."""
    return _TOPIC.search(folded(text)) is not None


def topic_words(text: str) -> Iterator[str]:
    """Yield the first word of each topic in a text and the next long ones, without accents."""
    for found in _TOPIC.finditer(folded(text)):
        first, *others = found[0].split()[:3]
        yield from (first, *(word for word in others if len(word) >= LONG))
