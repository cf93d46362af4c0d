"""`python -m sterna`."""

from sterna.command_line.commands import main

main()
