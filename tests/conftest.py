"""How hypothesis looks for counterexamples.

``daily`` (the default) tries the same examples each time, so that a failure is the change's.
``explore`` tries new ones, ten times as many: HYPOTHESIS_PROFILE=explore make test
``full`` is that of `make properties` (tests/properties/conftest.py): new ones, forty times as many.

What a profile leaves out it takes from the one loaded before; where ``CI`` is set, that is one of
hypothesis's own, which tries the same examples each time.
"""

import os
import signal

from hypothesis import HealthCheck, settings

settings.register_profile("daily", deadline=None, derandomize=True)
NEW = {"deadline": None, "derandomize": False, "print_blob": True}
settings.register_profile("explore", max_examples=1000, **NEW)
settings.register_profile("full", suppress_health_check=[HealthCheck.too_slow], **NEW)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "daily"))

# Tables are as wide as this says; tests are of the usual width.
os.environ.pop("COLUMNS", None)

# A shell starts what it puts into the background so that it and its children ignore Ctrl-C, and
# nohup so that they ignore SIGHUP; tests send both to processes of theirs.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
