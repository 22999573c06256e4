"""``python -m peerbayes``: the command line."""

import sys

from peerbayes.cli import main

sys.exit(main())
