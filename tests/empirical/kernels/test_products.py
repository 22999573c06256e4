"""Which product is taken, and that the caller's setting comes back."""

import threading

import pytest
import torch

from empirical.kernels import products as kernels
from empirical.kernels.products import LARGEST_ERROR, Trial, chosen, products, trial
from tests.empirical.support import refused


def setting() -> tuple[object, ...]:
    backends = torch.backends
    return (
        torch.get_float32_matmul_precision(),
        backends.mkldnn.matmul.fp32_precision,
        backends.cuda.matmul.fp32_precision,
        backends.cudnn.conv.fp32_precision,
        backends.cudnn.rnn.fp32_precision,
        torch.is_autocast_enabled("cpu"),
    )


@pytest.fixture(autouse=True)
def put_back():
    before = setting()
    yield
    torch.set_float32_matmul_precision(str(before[0]))
    torch.backends.mkldnn.matmul.fp32_precision = before[1]
    torch.backends.cuda.matmul.fp32_precision = before[2]


@pytest.mark.parametrize("caller", ["highest", "high", "medium"])
@pytest.mark.parametrize("choice", ["highest", "medium", "bfloat16"])
def test_the_callers_setting_comes_back(caller: str, choice: str) -> None:
    torch.set_float32_matmul_precision(caller)
    before = setting()
    with products(choice):
        inside = "highest" if choice == "bfloat16" else choice
        assert torch.get_float32_matmul_precision() == inside
        assert torch.is_autocast_enabled("cpu") == (choice == "bfloat16")
        # A GPU rounds to TensorFloat-32 only where it was said.
        rounded = "tf32" if choice == "medium" else "ieee"
        assert setting()[3:5] == (rounded, rounded)
        with products("highest"):
            assert torch.get_float32_matmul_precision() == "highest"
        assert torch.get_float32_matmul_precision() == inside
    assert setting() == before
    with pytest.raises(KeyError), products(choice):
        raise KeyError
    assert setting() == before


def test_a_callers_setting_by_its_new_name_comes_back() -> None:
    torch.backends.mkldnn.matmul.fp32_precision = "bf16"
    with products("highest"):
        assert torch.backends.mkldnn.matmul.fp32_precision == "ieee"
    assert torch.backends.mkldnn.matmul.fp32_precision == "bf16"


def test_threads_of_one_choice_share_it_and_others_wait() -> None:
    before = setting()
    seen: list[str] = []
    inside, leave = threading.Event(), threading.Event()

    def work(choice: str) -> None:
        with products(choice):
            seen.append(torch.get_float32_matmul_precision())
            inside.set()
            leave.wait(10)

    threads = [threading.Thread(target=work, args=("medium",)) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert inside.wait(10)
    other = threading.Thread(target=work, args=("highest",))
    other.start()
    other.join(0.2)
    assert other.is_alive()
    assert "highest" not in seen
    leave.set()
    for thread in (*threads, other):
        thread.join(10)
    assert seen == ["medium", "medium", "highest"]
    assert setting() == before


def test_a_nested_choice_that_others_would_see_is_refused() -> None:
    inside, leave = threading.Event(), threading.Event()

    def work() -> None:
        with products("highest"):
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=work)
    thread.start()
    assert inside.wait(10)
    with (
        products("highest"),
        pytest.raises(RuntimeError, match="another thread"),
        products("medium"),
    ):
        pass
    leave.set()
    thread.join(10)


def test_what_is_chosen_is_as_accurate_as_float32() -> None:
    """On any machine: an independent product, of another shape, in float64."""
    generator = torch.Generator().manual_seed(5)
    left = torch.randn(50, 400, generator=generator)
    right = torch.randn(400, 200, generator=generator)
    exact = left.double() @ right.double()
    choice = chosen("auto")
    assert choice in ("highest", "medium")
    with products(choice):
        found = (left @ right).double()
    # 400 roundings of 6e-8 each, at worst all one way.
    assert (found - exact).abs().max() <= 2.4e-5 * exact.abs().max()
    with products("bfloat16"):
        rounded = left @ right
    assert rounded.dtype == torch.bfloat16
    error = float((rounded.double() - exact).abs().max() / exact.abs().max())
    assert 1e-4 < error < 2e-2


@pytest.mark.parametrize(
    ("medium", "highest", "expected"),
    [
        (Trial(1e-6, 1.0), Trial(1e-6, 2.0), "medium"),
        (Trial(1e-6, 1.0), Trial(1e-6, 1.05), "highest"),
        (Trial(3e-3, 1.0), Trial(1e-6, 9.0), "highest"),
    ],
)
def test_medium_is_taken_where_it_is_accurate_and_quicker(
    monkeypatch, medium: Trial, highest: Trial, expected: str
) -> None:
    trials = {"medium": medium, "highest": highest}
    monkeypatch.setattr(kernels, "trial", lambda product, device="cpu": trials[product])
    assert chosen("auto") == expected
    if medium.error > LARGEST_ERROR:
        refused(r"products: .*'medium', got 0.003 on this machine", chosen, "medium")
    else:
        assert chosen("medium") == "medium"
    assert chosen("highest") == "highest"
    assert chosen("bfloat16") == "bfloat16"


def test_a_trial_is_made_once() -> None:
    assert trial("highest") is trial("highest")
    assert trial("highest").error < LARGEST_ERROR


def test_unknown_settings_are_refused() -> None:
    refused(r"products: .*'fast'", chosen, "fast")
    with pytest.raises(ValueError, match=r"choice: .*'auto'"), products("auto"):
        pass
