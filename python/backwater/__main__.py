"""`python -m backwater` is the command line."""

from backwater.cli.main import main

main()
