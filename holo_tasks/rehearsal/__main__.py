"""Serve a playbook over the protocol of a Holo model: `python -m holo_tasks.rehearsal`."""

import sys

from holo_tasks.rehearsal.server import main

sys.exit(main())
