"""What quantisers and questions about them refuse, in one line that says what to do."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from tests.theory.messages.cases import EXACT, NETWORK, coins, dice, normals
from theory.messages import (
    Acknowledged,
    Deadband,
    Plain,
    Quantiser,
    Samples,
    Single,
    Unacknowledged,
    Uniform,
    certify_messages,
    compressed_learning,
    fewest_bytes,
    finest_step,
    replica_deviation,
)
from theory.rational import RationalModel

HALF = Fraction(1, 2)


def certified(quantiser: Quantiser) -> object:
    model = RationalModel.from_model(dice(2) if isinstance(quantiser, Single) else coins(2))
    return certify_messages(EXACT, model, quantiser, delta=0.05, exponent=0.1)


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: Uniform(step=0), "step: expected a finite number above 0, got 0"),
    (lambda: Uniform(step=1, mixing=0), "mixing: expected a finite number above 0"),
    (lambda: Uniform(step=1, mixing=1.5), r"mixing: expected a number in \(0, 1\], got 1.5"),
    (lambda: Uniform(step=1, levels=1), "levels: expected a whole number of at least 2"),
    (lambda: Uniform(step=1, header=-1), "header: expected a whole number of at least 0"),
    (lambda: Deadband(step=2, threshold=1), "threshold: expected more than half a step, 1"),
    (lambda: Plain(step="x"), "step: expected a positive number"),
    (lambda: Acknowledged(step=1, loss=1), r"loss: expected a number in \[0, 1\), got 1"),
    (lambda: Unacknowledged(step=1, loss=-0.5), r"loss: expected a number in \[0, 1\)"),
    (lambda: Acknowledged(step=1, loss="x"), r"loss: expected a number in \[0, 1\)"),
    (lambda: Acknowledged(step=1, loss=0.5, burst=-1), "burst: expected a whole number"),
    (lambda: Single(step=1, choice="loudest"), "choice: expected one of rotation, largest, random"),
    (lambda: Samples(draws=0), "draws: expected a whole number of at least 1"),
    (lambda: Samples(draws=5, smoothing=0), "smoothing: expected a finite number above 0"),
    (lambda: Samples(draws=5, mixing=2), r"mixing: expected a number in \(0, 1\]"),
    (lambda: Samples(draws=5, header=-1), "header: expected a whole number"),
    (
        lambda: compressed_learning(NETWORK, coins(2), Uniform(step=0.5, levels=9)),
        "levels: expected at least 10, which never overload, got 9",
    ),
    (
        lambda: compressed_learning(NETWORK, normals(2), Uniform(step=1, levels=100)),
        "levels: expected no number of levels",
    ),
    (
        lambda: compressed_learning(NETWORK, dice(2), Single(step=1, levels=50)),
        "levels: expected no number of levels",
    ),
    (lambda: certified(Plain(step=1.0)), "quantiser: expected one with a replica"),
    (lambda: certified(Uniform(step=HALF, levels=9)), "levels: expected at least 10"),
    (lambda: certified(Single(step=HALF)), "quantiser: expected one whose log-ratios wait"),
    (lambda: fewest_bytes(NETWORK, normals(2)), "model: expected bounded log-ratios"),
    (lambda: fewest_bytes(NETWORK, coins(2), delta=2.0), r"delta: expected a number in \(0, 1\)"),
    (
        lambda: finest_step(NETWORK, coins(2), levels=1, mixing=HALF),
        "levels: expected a whole number of at least 2",
    ),
    (lambda: replica_deviation(NETWORK, order=3), "order: expected"),
    (lambda: replica_deviation([[1.0]]), "network: expected a Network"),
]


@pytest.mark.parametrize(("attempt", "message"), REFUSED)
def test_refused(attempt: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}") as caught:
        attempt()
    assert "\n" not in str(caught.value)
