"""The command line. All is imported inside the commands: `--help` is quick, and a failed import is told like other errors."""


def main() -> None:
    """Run `polymargin`."""
    from polymargin.cli.entry import run_cleanly

    def commands() -> None:
        from polymargin.cli.app import app

        app()

    run_cleanly(commands)
