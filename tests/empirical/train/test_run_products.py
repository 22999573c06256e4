"""Which matrix product a run's passes use: agreed, kept with the state, and put back behind it."""

from typing import Any

import pytest
import torch
from torch import nn

from empirical.kernels import products as kernels
from empirical.kernels.products import Trial
from empirical.likelihoods.laws import Classes
from empirical.nets.architecture import perceptron
from empirical.nets.shares import Shares
from empirical.train.kernel_net import KernelNet
from empirical.train.learners import Averaging
from empirical.train.module_net import ModuleNet, with_constants
from empirical.train.parts import agreed_products
from empirical.train.run import TrainingRun
from empirical.train.steps import TrainingFailed
from tests.empirical.support import refused
from theory import Network

GENERATOR = torch.Generator().manual_seed(0)
INPUTS = torch.rand(60, 40, generator=GENERATOR)
LABELS = torch.randint(0, 3, (60,), generator=GENERATOR)
SHARES = Shares(INPUTS, LABELS, tuple(torch.arange(60).reshape(5, 12)))
RING = Network.from_topology("ring", agents=5)
ALIKE = {"medium": Trial(1e-6, 1.0), "highest": Trial(1e-6, 1.0)}
QUICK = {"medium": Trial(1e-6, 1.0), "highest": Trial(1e-6, 2.0)}


def in_use() -> tuple[str, bool]:
    return torch.get_float32_matmul_precision(), torch.is_autocast_enabled("cpu")


class Watching(nn.Module):
    """A net that the kernels do not know, which notes what it multiplies by."""

    seen: list[tuple[str, bool]] = []  # noqa: RUF012 : of all copies

    def __init__(self) -> None:
        super().__init__()
        self.inside, self.out = nn.Linear(40, 24), nn.Linear(24, 3)

    def forward(self, x: Any) -> Any:
        self.seen.append(in_use())
        return self.out(torch.tanh(self.inside(x)))


def module() -> ModuleNet:
    torch.manual_seed(3)
    return ModuleNet(Watching(), example_input=INPUTS[:4])


def run_of(net: Any, **settings: Any) -> TrainingRun:
    numbers = {"rounds": 4, "local_steps": 3, "batch": 6, "seed": 1, **settings}
    return TrainingRun(net, Classes(3), numbers.pop("shares", SHARES), RING, Averaging(), **numbers)


@pytest.fixture(autouse=True)
def callers():
    """Whoever calls has set a product of its own, which comes back."""
    torch.set_float32_matmul_precision("high")
    before = in_use()
    yield
    assert in_use() == before
    torch.set_float32_matmul_precision("highest")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "trial", lambda product, device="cpu": QUICK[product])


@pytest.mark.parametrize("choice", ["highest", "medium", "bfloat16"])
@pytest.mark.usefixtures("quick")
def test_local_steps_use_the_product_and_put_the_callers_back(choice: str) -> None:
    run = run_of(module(), products=choice)
    Watching.seen.clear()
    run.run_round()
    rounded = choice == "bfloat16"
    assert set(Watching.seen) == {("highest" if rounded else choice, rounded)}
    assert in_use() == ("high", False)
    assert run.belief().mean.dtype == torch.float32


def test_the_callers_product_comes_back_from_a_run_that_fails() -> None:
    inputs = INPUTS.clone()
    inputs[0] = torch.nan
    broken = Shares(inputs, LABELS, SHARES.indices)
    run = run_of(module(), products="bfloat16", shares=broken, batch=12)
    with pytest.raises(TrainingFailed, match="agent 0"):
        run.run_round()
    assert in_use() == ("high", False)

    class Raising(Watching):
        def forward(self, x: Any) -> Any:
            if torch.is_autocast_enabled("cpu"):
                raise KeyError("x")
            return super().forward(x)

    run = run_of(ModuleNet(Raising(), example_input=INPUTS[:4]), products="bfloat16")
    with pytest.raises((KeyError, ValueError)):
        run.run_round()


def test_rounded_products_are_near_the_others_and_not_the_same() -> None:
    exact, rounded = (run_of(module(), products=name) for name in ("highest", "bfloat16"))
    for run in (exact, rounded):
        run.run_round()
    moved = exact.belief().mean - exact.net.initial(1)
    gap = (rounded.belief().mean - exact.belief().mean).norm() / moved.norm()
    # Eight bits of each factor are kept: errors of 2⁻⁹ a number, several products deep.
    assert 1e-4 < gap < 0.05


@pytest.mark.parametrize("choice", ["highest", "medium", "bfloat16"])
@pytest.mark.usefixtures("quick")
def test_grouping_changes_nothing_whatever_the_product(choice: str) -> None:
    """With one net for all runs: what was tried with another product does not count."""
    net, means = module(), []
    run_of(net, products="highest").run_round()
    for some in (1, 2, 5):
        run = run_of(net, products=choice, at_once=some)
        run.run_round()
        means.append(run.belief().mean.clone())
    assert torch.equal(means[0], means[1])
    assert torch.equal(means[0], means[2])


def test_a_resumed_run_goes_on_with_the_product_that_it_began_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernels, "trial", lambda product, device="cpu": QUICK[product])
    whole = run_of(module())
    assert whole.products == "medium"
    whole.run_round()
    kept = {name: values.clone() for name, values in whole.state().items()}
    whole.run_round()
    monkeypatch.setattr(kernels, "trial", lambda product, device="cpu": ALIKE[product])
    again = run_of(module())
    assert again.products == "highest"
    again.restore(kept)
    assert again.products == "medium"
    again.run_round()
    assert torch.equal(again.belief().mean, whole.belief().mean)
    coarse = {"medium": Trial(1e-3, 1.0), "highest": Trial(1e-6, 2.0)}
    monkeypatch.setattr(kernels, "trial", lambda product, device="cpu": coarse[product])
    refused(r"products: .*'medium', got 0.001 on this machine", run_of(module()).restore, kept)


class Two:
    """The first of two processes, whose other one chose this product."""

    processes, rank = 2, 0

    def __init__(self, other: str) -> None:
        self.other = other

    def gather(self, messages: Any, heard: Any) -> Any:
        raise AssertionError

    def collect(self, rows: Any, agents: int) -> Any:
        theirs = torch.full((agents - len(rows), 1), kernels.SETTINGS.index(self.other))
        return torch.cat([rows, theirs])


@pytest.mark.usefixtures("quick")
def test_processes_agree_on_a_product_that_all_of_them_may_take() -> None:
    net = module()
    assert agreed_products("auto", net, Two("highest"), agents=5, device="cpu") == "highest"
    assert agreed_products("auto", net, Two("medium"), agents=5, device="cpu") == "medium"


@pytest.mark.usefixtures("quick")
def test_nets_of_known_layers_multiply_as_ever() -> None:
    net = with_constants(KernelNet(perceptron(40, 8, outputs=2)), 1)
    states = []
    for caller in ("highest", "medium"):
        torch.set_float32_matmul_precision(caller)
        run = run_of(net)
        assert run.products == "highest"
        run.run_round()
        states.append(run.belief().mean.clone())
    torch.set_float32_matmul_precision("high")
    assert torch.equal(*states)
    with pytest.raises(ValueError, match="products: expected 'auto' or 'highest' for a net of kno"):
        run_of(net, products="bfloat16")
    refused(r"products: .*'fast'", run_of, net, products="fast")
    assert with_constants(module(), 1).words["kind"] == "module"
    assert run_of(with_constants(module(), 0)).products == "medium"
