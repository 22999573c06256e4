"""``python -m peerbayes``: the command line."""

import sys

from peerbayes.start import silently_interruptible

if __name__ == "__main__":
    silently_interruptible()  # until the command begins
    from peerbayes.cli import main

    sys.exit(main())
