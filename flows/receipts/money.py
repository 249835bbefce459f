"""Find amounts of money in the forms that people write."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

TOO_MUCH = Decimal(10) ** 9
"""Larger amounts are not expenses, in any currency."""
_SYMBOLS = {
    "US$": "USD", "CA$": "CAD", "C$": "CAD", "AU$": "AUD", "A$": "AUD", "NZ$": "NZD", "HK$": "HKD", "S$": "SGD",
    "R$": "BRL", "$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "zł": "PLN", "Fr.": "CHF",
    "SFr.": "CHF", "Euro": "EUR",
}  # fmt: skip
_CODES = (
    "EUR USD GBP CHF JPY CAD AUD NZD SEK NOK DKK PLN CZK HUF RON BGN TRY INR CNY HKD SGD KRW BRL MXN ZAR ILS AED "
    "SAR KWD BHD TND OMR JOD"
)
_DOLLARS = {"USD", "CAD", "AUD", "NZD", "HKD", "SGD", "MXN"}
"""Currencies that are written as ``$``."""
_NO_DECIMALS = {"JPY", "KRW"}
_THREE_DECIMALS = {"KWD", "BHD", "TND", "OMR", "JOD"}
_UNIT = "|".join(
    [re.escape(one) for one in sorted(_SYMBOLS, key=len, reverse=True)]
    + [rf"(?<![A-Za-z])(?:{_CODES.replace(' ', '|')})(?![A-Za-z])"]
)
_SPACE = "[ \u00a0\u2009\u202f]"
# Digits in groups of three with one kind of separator, or without one, then optional decimals.
_NUMBER = (
    rf"\d{{1,3}}(?P<group>[.,'’]|{_SPACE})\d{{3}}(?:(?P=group)\d{{3}})*(?:[.,]\d{{1,3}})?(?![\d])"
    r"|\d+(?:[.,]\d{1,3})?(?:,[-–—]|\.[-–—])?"
)
# A dash with spaces around it is a separator. A dash next to the amount or after a colon is a minus sign.
_AMOUNT = re.compile(
    rf"(?P<open>\()?(?P<sign>(?<=: )[-−–] ?|[-−–])?(?:(?P<before>{_UNIT}){_SPACE}*(?P<sign2>[-−])?|(?<![\w.,]))"
    rf"(?P<number>{_NUMBER})(?P<minus>-(?!\d))?"
    rf"(?(before)(?:{_SPACE}*(?P<also>{_UNIT})(?!{_SPACE}*\d))?|(?:{_SPACE}*(?P<after>{_UNIT}))?)"
    r"(?![\w%]|[.,]\d|-\d|/\d)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Money:
    """An amount of money in a text. ``currency`` is empty if none is written next to it.

    ``exact`` is false if the text can be read as two amounts ("1.284" without a currency). ``priced`` is true if
    the number looks like money and not like a count, because it has a currency or two decimals.
    """

    amount: Decimal
    currency: str
    exact: bool
    priced: bool
    start: int


def find_money(text: str) -> list[Money]:
    """Return every number in a line that can be an amount, in order."""
    return [_money(match) for match in _AMOUNT.finditer(text)]


def currencies(text: str) -> set[str]:
    """Return the currencies that occur in a text."""
    return {code for match in re.finditer(_UNIT, text) if (code := _code(match[0]))}


def _code(unit: str | None) -> str:
    if not unit:
        return ""
    folded = {name.casefold(): code for name, code in _SYMBOLS.items()}
    return folded.get(unit.casefold(), unit.upper())


def _money(match: re.Match[str]) -> Money:
    currency = _code(match["before"]) or _code(match["after"])
    exact = True
    if also := _code(match["also"]):
        # "$5.00 CAD" specifies the dollar. "€5.00 USD" and "$5.00 EUR" are contradictions.
        exact = also == currency or (match["before"] == "$" and also in _DOLLARS)
        currency = also
    number = re.sub(r"[.,][-–—]$", "", match["number"])
    group = match["group"]
    if group:
        whole, decimals = number, ""
        last = re.search(r"[.,](\d{1,3})$", number)
        if last and number[last.start()] != group:
            whole, decimals = number[: last.start()], last[1]
        elif group in ".," and number.count(group) == 1:
            # "EUR 1.284" is more than a thousand, because the euro has only two decimals.
            exact = bool(currency) and currency not in _THREE_DECIMALS
        value = Decimal(re.sub(r"\D", "", whole) + ("." + decimals if decimals else ""))
    else:
        value = Decimal(number.replace(",", "."))
        decimals = re.split(r"[.,]", number)[1] if re.search(r"[.,]", number) else ""
    if len(decimals) == 3 and currency not in _THREE_DECIMALS:
        exact = False
    negative = bool(match["sign"] or match["sign2"] or match["minus"] or match["open"])
    return Money(
        amount=-value if negative else value,
        currency=currency,
        exact=exact,
        priced=bool(currency) or len(decimals) == 2,
        start=match.start(),
    )
