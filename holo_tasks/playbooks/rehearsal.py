"""`python -m holo_tasks.playbooks.rehearsal`: the rehearsal model, by the name that it was started with before."""

import sys

from holo_tasks.rehearsal.server import main

if __name__ == "__main__":
    sys.exit(main())
