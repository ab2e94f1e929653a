"""`python -m streamsan` and the `streamsan` script: the command line program of this installation."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from ._installation import installation


def main() -> NoReturn:
    command = installation().command
    if command is None:
        print("streamsan: the program bin/streamsan is missing from this installation", file=sys.stderr)
        sys.exit(2)
    # For `streamsan doctor` and for programs that say `python`: the interpreter that was asked.
    os.environ.setdefault("STREAMSAN_PYTHON", sys.executable)
    os.execv(command, [command, *sys.argv[1:]])


if __name__ == "__main__":
    main()
