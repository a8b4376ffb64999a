"""`python -m backwater` is the command line."""

from backwater.cli import main

main()
