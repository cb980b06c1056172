"""The command line. Numerical packages are imported inside the commands, so `--help` is quick."""

from polymargin.cli.app import main

__all__ = ["main"]
