"""One agent of a network of nets by itself: its own share, its own steps, its own pooling.

Who says what to whom, over which wire, is not known here: a caller asks for a round's message,
and hands over what was heard and by which weights.

This package needs torch: in a checkout, ``pip install -c constraints.txt '.[train]'``.
"""

from importlib.util import find_spec

from theory.validation import install_extra

if find_spec("torch") is None:
    raise ImportError(f"agents that train nets need torch; {install_extra('train')}")
