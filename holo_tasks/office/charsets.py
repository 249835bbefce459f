"""Charset labels of mails and files, read as browsers read them (the table of the WHATWG, PyPI ``webencodings``)."""

from __future__ import annotations

import codecs

from holo_tasks.core.extras import require_extra

_OTHERWISE = {"gbk": "gb18030", "utf-16le": "utf-16"}
"""Codecs that read more than those of webencodings: all of GB 18030, and UTF-16 with a byte order mark."""

_OF_PYTHON = frozenset({"unicode-escape", "raw-unicode-escape", "idna", "punycode"})
"""Codecs of Python that are no charsets: they change texts in which a mail program shows a backslash or a hyphen."""


def codec_of(label: str) -> str:
    """Return the name of Python's codec for a charset label.

    Browsers read ``iso-8859-1`` as ``cp1252``, ``gb2312`` as ``gb18030`` and ``shift_jis`` as ``cp932``. A label that
    the table does not have is returned unchanged, for example ``utf-7``. Raises `InvalidUsage` if webencodings is not
    installed.
    """
    require_extra("office", "webencodings", "Reading a mail")
    import webencodings

    found = webencodings.lookup(label)
    if found is None:
        return "utf-8" if _plain(label) in _OF_PYTHON else label
    if found.name in _OTHERWISE:
        return _OTHERWISE[found.name]
    try:
        return codecs.lookup(found.codec_info.name).name
    except LookupError:  # such as x-user-defined, which only webencodings has
        return label


def _plain(label: str) -> str:
    """Return the name of Python's codec for a label with hyphens, or the label if it has none."""
    try:
        return codecs.lookup(label).name.replace("_", "-")
    except (LookupError, ValueError):
        return label
