"""`python -m flitgym` is the command `flitgym`."""

from flitgym.experiments.entry import main

main()
