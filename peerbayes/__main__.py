"""``python -m peerbayes``: the command line."""

import sys

from peerbayes.cli import main

if __name__ == "__main__":
    sys.exit(main())
