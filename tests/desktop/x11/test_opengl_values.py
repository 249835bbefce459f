"""Whether a program is likely to ask for OpenGL is guessed; whether a desktop has it can be said."""

from __future__ import annotations

import os
import sys

import pytest

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.desktop.x11.opengl import likely, wanted


@pytest.mark.parametrize(
    ("given", "word", "means"),
    [
        (None, "", None),
        (None, "auto", None),
        (None, " Yes ", True),
        (None, "off", False),
        (False, "1", False),
        (True, "what", True),
    ],
)
def test_what_is_given_counts_more_than_the_environment(given, word, means):
    assert wanted(given, {"HOLO_OPENGL": word}) is means
    assert wanted(given, {}) is given


def test_a_word_that_says_nothing_is_refused():
    with pytest.raises(InvalidUsage, match="HOLO_OPENGL is 1, 0 or auto, not 'maybe'"):
        wanted(None, {"HOLO_OPENGL": "maybe"})


@pytest.fixture
def script(tmp_path):
    def make(text):
        path = tmp_path / "program"
        path.write_text(text)
        path.chmod(0o755)
        return str(path)

    return make


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("#!/bin/sh\nexec /usr/lib/chromium/chromium", True),
        ("#!/usr/bin/python3\nfrom PyQt5 import QtWidgets", True),
        ("\x7fELF\0libgtk-3.so.0\0", True),
        ("#!/usr/bin/python3\nimport tkinter", False),
        ("\x7fELF\0libX11.so.6\0", False),
        ("", False),
    ],
)
def test_who_will_ask_is_told_by_names_of_libraries(script, text, asks):
    program = script(text)
    assert likely([program], None) is asks
    assert likely([sys.executable, program, "no-such-file", "/"], None) is asks


def test_what_the_command_says_counts_too(script):
    assert likely(["sh", "-c", "firefox"], os.environ["PATH"])
    assert not likely(["sh", "-c", "true"], os.environ["PATH"])
    assert not likely(["no-such-program", "firefox"], os.environ["PATH"])


def test_nothing_is_waited_for_in_what_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert not likely([sys.executable, str(tmp_path / "pipe")], None)
