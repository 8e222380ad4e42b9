"""Run the command line as ``python -m clapas``."""

from __future__ import annotations

import sys

from clapas.cli import main

if __name__ == "__main__":
    sys.exit(main())
