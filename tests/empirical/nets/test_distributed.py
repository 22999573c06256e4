"""Which agents' messages go from process to process; runs: tests/thorough/empirical."""

from hypothesis import given, settings
from hypothesis import strategies as st

from empirical.nets.exchange import OneProcess, block_of, connect, routes
from tests.empirical.support import refused


def test_without_torchrun_all_is_in_one_process() -> None:
    with connect() as exchange:
        assert exchange == OneProcess()


@given(agents=st.integers(1, 40), processes=st.integers(1, 40))
def test_blocks_follow_each_other_and_hold_everybody(agents: int, processes: int) -> None:
    if processes > agents:
        said = rf"^processes: expected at most {agents}, .*, got {processes}; start fewer"
        refused(said, block_of, agents, processes=processes, rank=0)
        return
    blocks = [block_of(agents, processes=processes, rank=rank) for rank in range(processes)]
    assert [agent for block in blocks for agent in block] == list(range(agents))
    assert max(map(len, blocks)) - min(map(len, blocks)) <= 1


@st.composite
def who_hears_whom(draw: st.DrawFn) -> tuple[tuple[int, ...], ...]:
    agents = draw(st.integers(2, 9))
    return tuple(
        tuple(sorted(draw(st.sets(st.integers(0, agents - 1))) - {i})) for i in range(agents)
    )


@settings(max_examples=40)
@given(heard=who_hears_whom(), processes=st.integers(2, 4))
def test_both_ends_agree_and_nothing_is_sent_in_vain(
    heard: tuple[tuple[int, ...], ...], processes: int
) -> None:
    agents = len(heard)
    processes = min(processes, agents)
    home = {
        agent: rank
        for rank in range(processes)
        for agent in block_of(agents, processes=processes, rank=rank)
    }
    ways = [routes(heard, processes=processes, rank=rank) for rank in range(processes)]
    sent = {
        (j, way.process) for rank in range(processes) for way in ways[rank] for j in way.outgoing
    }
    wanted = {(j, home[i]) for i in range(agents) for j in heard[i] if home[i] != home[j]}
    assert sent == wanted
    for rank in range(processes):
        for way in ways[rank]:
            (back,) = (other for other in ways[way.process] if other.process == rank)
            assert way.incoming == back.outgoing == tuple(sorted(way.incoming))
