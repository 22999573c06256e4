import numpy as np
import pytest
from scipy import sparse

from theory import Network
from theory.changing import (
    DelayedNetwork,
    MarkovNetwork,
    PeriodicNetwork,
    Phase,
    RandomLinks,
    RandomPresence,
    rotating_star,
)

SWAP = [[0.0, 1.0], [1.0, 0.0]]
REST = [[1.0, 0.0], [0.0, 1.0]]
PAIR = Network([[0.9, 0.1], [0.6, 0.4]])
RING = Network.from_topology("ring", agents=5)


def test_a_phase_is_checked_and_read_only() -> None:
    phase = Phase([["1/2", "1/2"], [0, 1]], [1])
    assert phase.observes.tolist() == [False, True]
    assert Phase(REST).observes.all()
    assert Phase(REST, np.array([True, False])).observes.tolist() == [True, False]
    assert not Phase(REST, []).observes.any()
    with pytest.raises(ValueError, match="read-only"):
        phase.observes[0] = True
    with pytest.raises(ValueError, match="rows that sum to 1"):
        Phase([[0.5, 0.4], [0, 1]])
    with pytest.raises(ValueError, match="active: expected a whole number of at most 1, got 2"):
        Phase(REST, [2])
    with pytest.raises(ValueError, match="one truth value for each of 2 agents"):
        Phase(REST, [True])


def test_a_union_that_is_not_connected_names_the_split() -> None:
    blocks = np.zeros((4, 4))
    blocks[:2, :2] = blocks[2:, 2:] = 0.5
    with pytest.raises(ValueError, match=r"2 classes .*: \{0, 1\}, \{2, 3\}; add weights"):
        PeriodicNetwork([blocks, np.eye(4)])
    one_way = [[0.5, 0.5], [0.0, 1.0]]
    with pytest.raises(ValueError, match=r"split into 2 classes .*\{[01]\}, \{[01]\}"):
        PeriodicNetwork([one_way])
    with pytest.raises(ValueError, match="strongly connected"):
        MarkovNetwork.independent([one_way, REST], [0.5, 0.5])


def test_agents_that_are_never_active_are_named() -> None:
    half = [[0.5, 0.5], [0.5, 0.5]]
    with pytest.raises(ValueError, match=r"\{1\} active in none; let them observe .* only relay"):
        PeriodicNetwork([Phase(half, [0])])


@pytest.mark.parametrize(
    "phases",
    [
        [SWAP],
        [SWAP, SWAP],
        [SWAP, REST],
        # One closed class of the product over two rounds, and yet it takes turns.
        [[[0, 1, 0], [0, 0, 1], [1, 0, 0]]],
    ],
)
def test_connected_products_that_do_not_mix(phases: list[list[list[float]]]) -> None:
    with pytest.raises(ValueError, match=r"groups that never agree: \{0\}, \{1\}"):
        PeriodicNetwork(phases)
    chance = np.full(len(phases), 1 / len(phases))
    with pytest.raises(ValueError, match="groups that never agree"):
        MarkovNetwork.independent(phases, chance)


def test_products_that_mix_without_any_weight_on_oneself() -> None:
    """No phase has a positive diagonal, nor mixes alone; their product has equal rows."""
    first = [[0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [0.0, 1.0, 0.0]]
    second = [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    mixed = PeriodicNetwork([first, second])
    assert mixed.period == 2
    assert MarkovNetwork.independent([first, second], [0.5, 0.5]).agents == 3


def test_two_swaps_that_cancel_in_turn_but_not_at_random() -> None:
    """Whether products mix depends on the order of the phases, not on the phases alone.

    Pooling of 0 and 1, then of 2 and 3, then everybody moves on by two: in this order the pairs
    {0, 1} and {2, 3} are only carried round. Drawn at random, all four still never meet, as
    nothing joins the pairs; one more phase that moves by one joins them.
    """
    pool = np.kron(np.eye(2), np.full((2, 2), 0.5))
    two = np.roll(np.eye(4), 2, axis=1)
    one = np.roll(np.eye(4), 1, axis=1)
    with pytest.raises(ValueError, match=r"never agree: \{0, 1\}, \{2, 3\}"):
        PeriodicNetwork([pool, two])
    with pytest.raises(ValueError, match="never agree"):
        MarkovNetwork.independent([pool, two], [0.5, 0.5])
    assert PeriodicNetwork([pool, one]).agents == 4
    assert MarkovNetwork.independent([pool, two, one], [0.4, 0.3, 0.3]).agents == 4


def test_a_class_that_is_not_everybody_is_enough() -> None:
    """The product need not be irreducible: agent 2 only listens at the end of a period."""
    talk = [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    hand_over = [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    listen = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    assert PeriodicNetwork([talk, hand_over, listen]).period == 3


def test_phases_agree_about_the_agents() -> None:
    with pytest.raises(ValueError, match=r"phases\[1\]: expected as many agents .* 2, got 1"):
        PeriodicNetwork([REST, [[1.0]]])
    with pytest.raises(ValueError, match="at least one phase"):
        PeriodicNetwork([])


def test_periodic_rounds_count_from_one() -> None:
    network = rotating_star(groups=3, group_size=2, edge_confidence=0.25)
    assert network.phase_of(1) is network.phases[0]
    assert network.phase_of(4) is network.phases[0]
    assert network.phase_of(6) is network.phases[2]
    weights = np.asarray(network.phases[1].weights)
    np.testing.assert_allclose(weights[0], [1 / 3, 0, 0, 1 / 3, 1 / 3, 0, 0])
    np.testing.assert_allclose(weights[3], [0.25, 0, 0, 0.75, 0, 0, 0])
    np.testing.assert_array_equal(weights[1], np.eye(7)[1])
    assert np.flatnonzero(network.phases[1].observes).tolist() == [0, 3, 4]
    assert network.layout.shape == (7, 2)
    large = rotating_star(groups=10, group_size=10, edge_confidence=0.5)
    assert sparse.issparse(large.phases[0].weights)


def test_chains_of_phases_are_checked() -> None:
    half = [[0.5, 0.5], [0.5, 0.5]]
    with pytest.raises(ValueError, match=r"transition: expected phases that all lead .*\{0\}, \{1"):
        MarkovNetwork((Phase(half), Phase(REST)), np.eye(2))
    with pytest.raises(ValueError, match=r"transition: .* 2 phases, got shape"):
        MarkovNetwork((Phase(half), Phase(REST)), np.ones((1, 1)))
    with pytest.raises(ValueError, match="initial: "):
        MarkovNetwork((Phase(half),), np.ones((1, 1)), np.array([0.5, 0.5]))
    with pytest.raises(ValueError, match="probabilities: expected one for each of 2 phases"):
        MarkovNetwork.independent([half, REST], [1.0])
    # A phase of probability zero is none.
    assert len(MarkovNetwork.independent([half, REST], [1.0, 0.0]).phases) == 1
    # A chain with a rhythm has its shares of rounds, and says so.
    turns = MarkovNetwork((Phase(half), Phase(REST)), np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert turns.period == 2
    assert turns.stationary_phases.tolist() == [0.5, 0.5]


def test_gossip_clocks_and_walks() -> None:
    gossip = MarkovNetwork.gossip_pairs(RING)
    assert len(gossip.phases) == 5
    assert all(phase.observes.sum() == 2 for phase in gossip.phases)
    everyone = MarkovNetwork.gossip_pairs([[0, 1]], everyone_observes=True)
    assert everyone.phases[0].observes.all()
    with pytest.raises(ValueError, match=r"edges: expected two agents each, got \[1, 1\]"):
        MarkovNetwork.gossip_pairs([[0, 1], [1, 1]])
    with pytest.raises(ValueError, match="split into 2 classes"):
        MarkovNetwork.gossip_pairs([[0, 1]], agents=3)
    # A pair that is given twice would meet twice as often without a word.
    for twice in ([[0, 1], [1, 2], [0, 1]], [[0, 1], [1, 2], [1, 0]]):
        with pytest.raises(ValueError, match=r"each pair of agents once.*got \[0, 1\] 2 times"):
            MarkovNetwork.gossip_pairs(twice)
        with pytest.raises(ValueError, match=r"each pair of agents once"):
            MarkovNetwork.gossip_pairs(twice, probabilities=[0.25, 0.5, 0.25])
    clocks = MarkovNetwork.clocks(RING, [1, 2, 3, 4, 5])
    assert clocks.event_rate == 15
    np.testing.assert_allclose(clocks.stationary_phases, np.arange(1, 6) / 15)
    with pytest.raises(ValueError, match="clock_rates: expected a positive rate for each of 5"):
        MarkovNetwork.clocks(RING, [1, 2, 3, 4, 0])
    walk = MarkovNetwork.walk(RING, initial=[1, 0, 0, 0, 0])
    assert walk.first_phases.tolist() == [1, 0, 0, 0, 0]
    np.testing.assert_allclose(np.asarray(walk.phases[2].weights)[2], RING.weights[2])


def test_links_are_checked() -> None:
    with pytest.raises(ValueError, match=r"up: expected probabilities in \[0, 1\], got 1.5"):
        RandomLinks(PAIR, 1.5)
    with pytest.raises(ValueError, match="on_loss: expected one of own, renormalise, last"):
        RandomLinks(PAIR, 0.5, "drop")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="up: expected a number, or shape"):
        RandomLinks(PAIR, [[0.5]])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"2 classes .*\{[01]\}, \{[01]\}"):
        RandomLinks(PAIR, np.array([[1.0, 0.0], [0.5, 1.0]]))
    with pytest.raises(ValueError, match=r'positive probabilities for on_loss="last"'):
        RandomLinks(RING, np.where(np.eye(5, k=1) > 0, 0.0, 0.5), "last")
    with pytest.raises(ValueError, match="symmetric: expected links in both directions"):
        RandomLinks(PAIR, np.array([[1.0, 0.3], [0.5, 1.0]]), symmetric=True)
    # Without weights on oneself, and with every third link cut, the rest takes turns.
    triangle = Network((np.ones((3, 3)) - np.eye(3)) / 2)
    cut = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0]])
    with pytest.raises(ValueError, match=r"never agree: \{0\}, \{[12]\}, \{[12]\}"):
        RandomLinks(triangle, cut, "renormalise")
    assert RandomLinks(triangle, cut, "own").agents == 3


def test_presence_is_checked() -> None:
    with pytest.raises(ValueError, match=r"present: expected shares in \(0, 1\], got 0"):
        RandomPresence(PAIR, [0.5, 0.0])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="mean_absence: expected at least 9 rounds for agent 0"):
        RandomPresence(PAIR, 0.1, 3.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="come and go at random"):
        RandomPresence(PAIR, 0.5, 1.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="one for each of 2 agents"):
        RandomPresence(PAIR, [0.5, 0.5, 0.5])  # type: ignore[arg-type]


def test_delays_are_checked() -> None:
    with pytest.raises(ValueError, match="delays: expected whole numbers of rounds"):
        DelayedNetwork(PAIR, -1)
    with pytest.raises(ValueError, match=r"delays: expected whole numbers of rounds .* got 0\.5"):
        DelayedNetwork(PAIR, np.full((2, 2), 0.5))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="delays: expected a number, or shape"):
        DelayedNetwork(PAIR, np.zeros((3, 3), dtype=int))
    # Everything exactly one round late: odd and even rounds never hear of each other.
    with pytest.raises(ValueError, match="agree in turns, with period 2"):
        DelayedNetwork(PAIR, np.ones((2, 2), dtype=int))
    late = DelayedNetwork(PAIR, np.array([[1, 2], [1, 1]]))
    assert late.longest == 2
    np.testing.assert_allclose(sum(part.toarray() for part in late.weights_by_delay), PAIR.weights)
