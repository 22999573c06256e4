"""What is recorded of a round on a GPU goes on from what stands in place."""

from contextlib import contextmanager
from types import SimpleNamespace

import torch

from empirical.kernels import replayed
from empirical.kernels.replayed import Replayed, _Recorded


class Machine:
    """A GPU that records a call of the work below, changing nothing, and calls it at a replay."""

    def __init__(self) -> None:
        self.total, self.out, self.calls = torch.zeros(2), torch.zeros(2), []
        stream = SimpleNamespace(wait_stream=lambda other: None)
        self.cuda = SimpleNamespace(
            CUDAGraph=lambda: SimpleNamespace(replay=lambda: self.work(*self.given)),
            Stream=lambda: stream, current_stream=lambda: stream,
            stream=lambda stream: self.named("beside"), graph=lambda graph: self.named("recorded"),
        )  # fmt: skip

    @contextmanager
    def named(self, name):
        self.calls.append(name)
        yield

    def work(self, *given):
        self.given = given
        if self.calls[-1] != "recorded":
            self.total += given[0]
        else:
            self.calls.append("replays")
        return self.out.copy_(self.total)


def test_a_shape_is_called_recorded_and_replayed(monkeypatch) -> None:
    machine = Machine()
    monkeypatch.setattr(replayed, "_CUDA", machine.cuda)
    values = [torch.tensor([k, 10.0 * k]) for k in range(1, 5)]
    recorded = _Recorded(machine.work, (values[0],))
    found = [recorded((one,)).clone() for one in values]
    assert machine.calls == ["beside", "recorded", "replays"]
    assert torch.equal(torch.stack(found), torch.stack(values).cumsum(0))
    assert machine.given[0] is not values[3]  # read from where it was when it was recorded


def test_elsewhere_the_work_is_called() -> None:
    given = torch.ones(3)
    assert Replayed(lambda one: one)(given) is given
