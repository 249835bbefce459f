"""A person sees the desktop, and uses it while they have it; nobody else does either."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import pytest_asyncio

from holo_tasks.desktop import VirtualDesktop
from holo_tasks.live_view import open_live_view
from tests.support.viewer import Person
