"""`python -m holo_tasks.cli`: the command line."""

from holo_tasks.cli import main

main()
