"""Loaded by every Python that a test starts: OCR results are shared between the processes of a test run.

Loads nothing until the OCR module is imported.
"""

import os
import sys

READS = "holo_tasks.vision.ocr"


class WhenLoaded:
    """Import hook that enables sharing when this process imports the OCR module."""

    def find_spec(self, name, path, target=None):  # type: ignore[no-untyped-def]
        if name != READS:
            return None
        sys.meta_path.remove(self)
        from importlib.util import find_spec

        import read_before

        spec = find_spec(name)
        load = spec.loader.exec_module

        def load_and_share(module):  # type: ignore[no-untyped-def]
            load(module)
            read_before.share()

        spec.loader.exec_module = load_and_share
        return spec


if os.environ.get("PYTHON_HOLO_READ"):
    sys.meta_path.insert(0, WhenLoaded())
