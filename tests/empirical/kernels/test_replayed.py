"""What is recorded of a round on a GPU goes on from what stands in place."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest
import torch

from empirical.kernels import replayed
from empirical.kernels.replayed import Replayed, _Recorded


class Machine:
    """A GPU: work that is called while it records is not done, and a replay does it."""

    def __init__(self, *, refuses: bool) -> None:
        self.total, self.out, self.log = torch.zeros(2), torch.zeros(2), []
        self.refuses, self.records = refuses, False
        stream = SimpleNamespace(wait_stream=lambda other: None)
        self.cuda = SimpleNamespace(
            CUDAGraph=lambda: SimpleNamespace(replay=self.replay, pool=lambda: "memory"),
            graph=lambda graph, *memory: self.graph(*memory),
            Stream=lambda: stream, current_stream=lambda: stream, stream=lambda _: self.aside(),
        )  # fmt: skip

    @contextmanager
    def aside(self):
        self.log.append("set up")
        yield

    @contextmanager
    def graph(self, *memory):
        self.records = True
        self.log += memory
        try:
            yield
        finally:
            self.records = False

    def replay(self):
        self.log.append("replay")
        self.work(*self.given)

    def work(self, one):
        if not self.records:
            self.total += one
        elif self.refuses:
            raise RuntimeError("operation not permitted when stream is capturing")
        self.given = (one,)
        return self.out.copy_(self.total)


@pytest.mark.parametrize("refuses", [False, True])
def test_a_shape_is_called_recorded_and_replayed(monkeypatch, refuses: bool) -> None:
    machine = Machine(refuses=refuses)
    monkeypatch.setattr(replayed, "_CUDA", machine.cuda)
    values = [torch.tensor([k, 10.0 * k]) for k in range(1, 5)]
    memory: list[str] = []
    recorded = _Recorded(machine.work, (values[0],), memory)
    found = [recorded((one,)).clone() for one in values]
    assert torch.equal(torch.stack(found), torch.stack(values).cumsum(0))
    assert machine.log == ["set up"] + ["replay"] * (0 if refuses else 3)
    assert memory == ([] if refuses else ["memory"])


def test_another_shape_is_recorded_in_the_same_memory(monkeypatch) -> None:
    machine = Machine(refuses=False)
    monkeypatch.setattr(replayed, "_CUDA", machine.cuda)
    recorded = _Recorded(machine.work, (torch.ones(2),), memory := ["of the first"])
    for _ in range(2):
        recorded((torch.ones(2),))
    assert machine.log == ["set up", "of the first", "replay"]
    assert memory == ["memory"]


def test_elsewhere_the_work_is_called() -> None:
    given = torch.ones(3)
    assert Replayed(lambda one: one)(given) is given
