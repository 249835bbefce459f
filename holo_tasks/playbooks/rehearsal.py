"""Start the rehearsal model by its former name: `python -m holo_tasks.playbooks.rehearsal`."""

import sys

from holo_tasks.rehearsal.server import main

if __name__ == "__main__":
    sys.exit(main())
