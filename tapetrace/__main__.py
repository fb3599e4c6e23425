"""``python -m tapetrace``."""

from tapetrace.cli import main

main()
