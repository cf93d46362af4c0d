"""`python -m sterna`."""

from sterna.cli import main

main()
