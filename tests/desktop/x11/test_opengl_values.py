"""Whether a program is likely to request OpenGL, and the option and variable that override the guess."""

from __future__ import annotations

import os
import sys

import pytest

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.desktop.x11.opengl import likely, opengl_enabled


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
def test_the_option_overrides_the_variable(given, word, means):
    assert opengl_enabled(given, {"HOLO_OPENGL": word}) is means
    assert opengl_enabled(given, {}) is given


def test_an_invalid_value_of_the_variable_is_refused():
    with pytest.raises(InvalidUsage, match="HOLO_OPENGL is 1, 0 or auto, not 'maybe'"):
        opengl_enabled(None, {"HOLO_OPENGL": "maybe"})


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
def test_a_program_likely_to_request_opengl_is_recognized_by_its_libraries(script, text, asks):
    program = script(text)
    assert likely([program], None) is asks
    assert likely([sys.executable, program, "no-such-file", "/"], None) is asks


def test_the_words_of_a_shell_command_count_too(script):
    assert likely(["sh", "-c", "firefox"], os.environ["PATH"])
    assert not likely(["sh", "-c", "true"], os.environ["PATH"])
    assert not likely(["no-such-program", "firefox"], os.environ["PATH"])


def test_a_named_pipe_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert not likely([sys.executable, str(tmp_path / "pipe")], None)
