import numpy as np
import pytest

from tests.models import COIN, coin, coins
from theory import FiniteAgent, FiniteModel


def agent_preferring(losses: list[float]) -> FiniteAgent:
    """An agent with one outcome whose divergences are `losses`."""
    return FiniteAgent.from_log_likelihoods(-np.array(losses)[:, None])


NAMES = ["a", "b", "c"]


def test_best_hypotheses_are_the_intersection() -> None:
    model = FiniteModel.from_agents(
        NAMES, [agent_preferring([1, 1, 2]), agent_preferring([3, 1, 1])]
    )
    assert model.locally_optimal == ((0, 1), (1, 2))
    assert model.optimal_hypotheses == (1,)
    assert model.reference_hypotheses([0.9, 0.1]) == (1,)


def test_without_a_common_best_the_compromise_depends_on_the_weights() -> None:
    model = FiniteModel.from_agents(
        NAMES, [agent_preferring([0, 1, 3]), agent_preferring([3, 1, 0])]
    )
    assert model.optimal_hypotheses == ()
    assert model.compromise([0.5, 0.5]) == (1,)
    assert model.compromise([0.9, 0.1]) == (0,)
    assert model.compromise([0.1, 0.9]) == (2,)


def test_information_is_signed() -> None:
    model = FiniteModel.from_agents(NAMES, [agent_preferring([1, 0, 4])], counts=[2])
    np.testing.assert_array_equal(model.information(0), [[0, -1, 3], [0, -1, 3]])


def test_ambiguous_pairs_need_every_agent() -> None:
    same = coin([0.5, 0.5], [0.25, 0.75], [0.25, 0.75])
    other = coin([0.5, 0.5], [0.25, 0.75], [0.75, 0.25])
    assert FiniteModel.from_agents(NAMES, [same, same]).ambiguous_pairs == ((1, 2),)
    # Equal divergence is not equal likelihood: this agent tells b from c.
    assert FiniteModel.from_agents(NAMES, [same, other]).ambiguous_pairs == ()


def test_counts_share_a_kind() -> None:
    model = FiniteModel.from_agents(["fair", "loaded"], [COIN, COIN], counts=[3, 1])
    assert model.assignment.tolist() == [0, 0, 0, 1]
    assert model.divergences.shape == (4, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"hypotheses": ["a", "a"]}, "two distinct names"),
        ({"hypotheses": ["a"]}, "two distinct names"),
        ({"hypotheses": NAMES}, "likelihoods for 3 hypotheses, got 2"),
        ({"agents": []}, "at least one agent"),
        ({"agents": ["coin"]}, "a FiniteAgent or a GaussianAgent, got str"),
        ({"counts": [0]}, r"counts\[0\]: expected a whole number of at least 1, got 0"),
        ({"counts": [1, 2]}, "one per entry of agents"),
        ({"priors": [[1.0, 0.0]]}, "2 positive probabilities"),
        ({"priors": [[0.5, 0.4]]}, "sum to 1"),
    ],
)
def test_bad_models(arguments: dict[str, object], message: str) -> None:
    good: dict[str, object] = {"hypotheses": ["fair", "loaded"], "agents": [COIN]}
    with pytest.raises(ValueError, match=message) as caught:
        FiniteModel.from_agents(**{**good, **arguments})  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_weights_must_match_the_agents() -> None:
    with pytest.raises(ValueError, match="one weight for each of 3 agents"):
        coins(3).compromise([0.5, 0.5])


def test_laws_are_kept_for_a_bounded_number_of_pairs() -> None:
    model = FiniteModel.from_agents(
        NAMES, [agent_preferring([1, 1, 2]), agent_preferring([3, 1, 1])]
    )
    pairs = [(a, b) for a in range(3) for b in range(3)]
    laws = {pair: model.log_ratio_laws(*pair) for pair in pairs}
    for pair in pairs:
        assert model.log_ratio_laws(*pair) == laws[pair]
        assert laws[pair] == tuple(kind.log_ratio_law(*pair) for kind in model.kinds)
    assert model.log_ratio_laws(2, 2) is model.log_ratio_laws(2, 2)
    assert len(model._laws) == 6
