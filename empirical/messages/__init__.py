"""What agents send: codecs, frames, and the least that a message can cost.

This package needs torch, and the codec of wavelets PyWavelets: in a checkout,
``pip install -c constraints.txt '.[messages]'``.
"""

from importlib.util import find_spec

from theory.validation import install_extra

try:
    if find_spec("torch") is None:
        raise ModuleNotFoundError
except ModuleNotFoundError:
    raise ImportError(f"codecs of messages need torch; {install_extra('messages')}") from None
