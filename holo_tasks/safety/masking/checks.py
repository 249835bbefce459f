"""Checksums of card, account and personal numbers.

python-stdnum is not used, because its checks refuse countries, formats and digits of other scripts that must be masked.
A needless mask does less harm than a missing one.
"""

from __future__ import annotations

from collections import Counter

_DNI = "TRWAGMYFPDXBNJZSQVHLCKE"
IBAN_FORMS = {
    "AT": "16n",
    "BE": "12n",
    "CH": "5n12c",
    "CZ": "20n",
    "DE": "18n",
    "DK": "14n",
    "ES": "20n",
    "FI": "14n",
    "FR": "10n11c2n",
    "GB": "4a14n",
    "IE": "4a14n",
    "IT": "1a10n12c",
    "LU": "3n13c",
    "NL": "4a10n",
    "NO": "11n",
    "PL": "24n",
    "PT": "21n",
    "SE": "20n",
}
"""Format of an account number after country code and checksum, by country: numbers of digits (n), letters (a) or either
(c).
"""


def luhn(digits: str) -> bool:
    """Return whether the digits pass the Luhn check of card numbers (ISO/IEC 7812)."""
    total = sum(sum(divmod(int(digit) * (1 + place % 2), 10)) for place, digit in enumerate(reversed(digits)))
    return total % 10 == 0


def is_card(digits: str) -> bool:
    """Return whether the digits are a possible card number: length, first digit and Luhn check."""
    return 13 <= len(digits) <= 19 and digits[0] in "23456" and len(set(digits)) > 1 and luhn(digits)


def is_iban(text: str) -> bool:
    """Return whether uppercase letters and digits without spaces are a valid IBAN (ISO 13616)."""
    if not 15 <= len(text) <= 34 or not text[:2].isalpha() or not text[2:4].isdigit():
        return False
    return int("".join(str(int(character, 36)) for character in text[4:] + text[:4])) % 97 == 1


def is_us_ssn(digits: str) -> bool:
    """Return whether nine digits may be a US social security number.

    It has no checksum, but some parts are never issued.
    """
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    return area not in ("000", "666") and area[0] != "9" and group != "00" and serial != "0000"


def is_de_tax_id(digits: str) -> bool:
    """Return whether the digits are a German personal tax number of 11 digits (ISO 7064, MOD 11,10)."""
    if len(digits) != 11 or digits[0] == "0":
        return False
    product = 10
    for digit in digits[:10]:
        product = ((int(digit) + product) % 10 or 10) * 2 % 11
    return (11 - product) % 10 == int(digits[10]) and max(Counter(digits[:10]).values()) in (2, 3)


def is_fr_nir(text: str) -> bool:
    """Return whether 15 characters are a French social security number with its key. Corsican numbers hold a letter."""
    number = text[:13].replace("2A", "19").replace("2B", "18")
    return number.isdigit() and text[13:].isdigit() and text[0] in "12" and 97 - int(number) % 97 == int(text[13:])


def is_es_dni(text: str) -> bool:
    """Return whether nine characters are a Spanish identity card number, of a citizen or a foreigner."""
    number = {"X": "0", "Y": "1", "Z": "2"}.get(text[0], text[0]) + text[1:8]
    return number.isdigit() and text[8] == _DNI[int(number) % 23]
