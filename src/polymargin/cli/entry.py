"""What every command line of the package does about errors."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def run_cleanly(commands: Callable[[], Any]) -> None:
    """Errors made for people are printed as one sentence, without a traceback."""
    from polymargin.errors import PolymarginError

    try:
        commands()
    except PolymarginError as error:
        print(f"polymargin: {error}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        print(f"polymargin: {error.filename or 'file'}: {error.strerror or error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("polymargin: interrupted; with --checkpoint the same command continues", file=sys.stderr)
        sys.exit(130)
