"""`python -m sterna`."""

from sterna.run.command_line import main

main()
