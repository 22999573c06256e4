"""What a net's outputs say of a label: classes, numbers, counts, and several of them at once.

This package needs torch: in a checkout, ``pip install -c constraints.txt '.[empirical]'``.
"""

import empirical.kernels  # noqa: F401  # which says so where it is missing
