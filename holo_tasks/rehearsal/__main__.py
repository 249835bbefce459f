"""`python -m holo_tasks.rehearsal`: serve a playbook over the protocol of a Holo model."""

import sys

from holo_tasks.rehearsal.server import main

sys.exit(main())
