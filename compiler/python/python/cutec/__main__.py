"""The program `cutec`: `python -m cutec` is what the command `cutec` is."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from ._cutec import run_program


def main() -> NoReturn:
    """Run the program on the arguments of the process, and end it."""
    sys.stdout.flush()
    sys.stderr.flush()
    code = run_program(["cutec", *sys.argv[1:]])
    # What libraries would tidy up at exit takes longer than the program, and the system does it anyway.
    os._exit(code)


if __name__ == "__main__":
    main()
