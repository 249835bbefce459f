"""Stored OCR readings, which the programs of tests reuse, equal those of the engine."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from holo_tasks.vision.ocr import Ocr
from tests.support.started import read_before


def test_stored_readings_equal_those_of_the_engine() -> None:
    known, shown, ocr = read_before.known(), read_before.pictures(), Ocr()
    # Without them the tests take half as long again.
    assert known or os.environ.get(read_before.ANEW), "readings.zip is of another engine: run make durations"
    assert len(shown) > 10
    for key, picture in shown.items():
        pixels = np.ascontiguousarray(np.asarray(Image.open(io.BytesIO(picture)))[..., ::-1])
        assert read_before.key_of("text", pixels) == key
        said, sure = ocr.read(pixels)
        assert said == known[key][0]
        assert sure == pytest.approx(known[key][1], abs=0.02)


def test_readings_of_another_engine_version_are_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, path = tmp_path / "read", tmp_path / "readings.zip"
    folder.mkdir()
    (folder / "ab").write_text(json.dumps(["Save", 0.9]))
    (folder / "cd.17.42").write_text("half of o")
    monkeypatch.delenv(read_before.ANEW, raising=False)
    read_before.keep(folder, path)
    assert read_before.kept_readings.__wrapped__(path) == {"ab": ["Save", 0.9]}
    monkeypatch.setattr(read_before, "version", lambda name: "99")
    assert read_before.kept_readings.__wrapped__(path) == {}
