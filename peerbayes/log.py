"""What the program does, for who wants to see it: ``peerbayes -v``, or `logging` in Python.

Loggers are called ``peerbayes.…``. Nothing is written unless somebody asks.
"""

from __future__ import annotations

import logging


def log_to_standard_error(verbosity: int) -> None:
    """Write what is logged to standard error, with the time: steps, and with 2 their details."""
    from peerbayes._version import __version__

    logging.basicConfig(format="%(asctime)s %(name)s: %(message)s", datefmt="%H:%M:%S", force=True)
    logger = logging.getLogger("peerbayes")
    logger.setLevel(logging.INFO if verbosity == 1 else logging.DEBUG)
    logger.info("version %s", __version__)
