"""Any net, any data, any network: what `peerbayes train` and ``pb.train`` are made of.

A :class:`~empirical.train.net.Net` says what a net with given weights puts out, a
:class:`~empirical.likelihoods.laws.Likelihood` what its outputs say of a label; both
work on the nets of all agents at once, whose weights are the rows of one tensor. The agents'
examples are :class:`~empirical.train.data.agents_data.AgentsData`, read without loading torch.

This package needs torch, and pyarrow and Pillow for tables and images: in a checkout,
``pip install -c constraints.txt '.[train]'``.
"""

from importlib.util import find_spec

from theory.validation import install_extra

try:
    if find_spec("torch") is None:
        raise ModuleNotFoundError
except ModuleNotFoundError:
    raise ImportError(f"training nets needs torch; {install_extra('train')}") from None
