"""Every signal that ends a command with workers at work."""

import signal
from pathlib import Path

import pytest

from tests.peerbayes.test_signals import Start, check_ending, start  # noqa: F401


@pytest.mark.parametrize(
    ("number", "code", "words"),
    [
        (signal.SIGTERM, 143, "terminated"),
        (signal.SIGHUP, 129, "terminated"),
        (signal.SIGINT, 130, "interrupted"),
        (signal.SIGKILL, -9, None),
    ],
)
def test_nobody_is_left_at_work(
    number: int,
    code: int,
    words: str | None,
    start: Start,  # noqa: F811
    tmp_path: Path,
) -> None:
    check_ending(start, tmp_path, number, code, words)
