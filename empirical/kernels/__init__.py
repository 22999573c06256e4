"""Compiled inner loops of training: counter-based noise, matrix products, updates in one sweep.

What nets, messages and their training share, and built on none of them. This package needs torch:
in a checkout, ``pip install -c constraints.txt '.[empirical]'``.
"""

from importlib.util import find_spec

from theory.validation import install_extra

try:
    if find_spec("torch") is None:
        raise ModuleNotFoundError
except ModuleNotFoundError:
    remedy = install_extra("empirical")
    raise ImportError(f"compiled loops of training need torch; {remedy}") from None
