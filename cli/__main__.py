"""`python -m cli` is `lk`."""

from cli.root import main

main()
