"""Who holds what, and in which order."""

import numpy as np
import pytest
import torch

from empirical.data import load_digits
from empirical.nets.architecture import perceptron
from empirical.nets.shares import Drawn, Order, Shares, as_inputs
from empirical.partition import Partition
from tests.empirical.support import refused


@pytest.mark.parametrize(("size", "batch"), [(10, 3), (12, 3), (2, 5), (1, 4), (7, 7)])
def test_an_epoch_shows_each_example_once(size: int, batch: int) -> None:
    order = Order(size, batch, seed=1, agent=2)
    per_epoch = max(size // batch, 1)
    for epoch in range(3):
        rows = order.rows(epoch * per_epoch, per_epoch).reshape(-1)
        assert rows.size == per_epoch * batch
        counts = np.bincount(rows, minlength=size)
        assert counts.max() - counts.min() <= 1
        if size >= batch:
            assert counts.max() == 1


def test_a_batch_depends_on_seed_agent_and_step_alone() -> None:
    one = Order(50, 7, seed=3, agent=4)
    forward = one.rows(0, 30).tolist()
    again = Order(50, 7, seed=3, agent=4)
    assert [again.rows(step)[0].tolist() for step in reversed(range(30))][::-1] == forward
    assert Order(50, 7, seed=3, agent=5).rows(0)[0].tolist() != forward[0]
    assert Order(50, 7, seed=4, agent=4).rows(0)[0].tolist() != forward[0]
    assert forward[0] != forward[7]


def test_images_become_inputs() -> None:
    images = load_digits()
    shares = Shares.from_images(images, Partition(([0, 2], [1])), input_shape=(1, 8, 8))
    assert shares.sizes == (2, 1)
    assert shares.inputs.dtype == torch.float32
    assert float(shares.inputs.max()) == 1.0
    assert (shares.inputs[5, 0] * 16 == torch.tensor(images.pixels[5].astype(np.float32))).all()
    assert as_inputs(images, input_shape=(64,)).shape == (1797, 64)
    assert shares.together().indices[0].tolist() == [0, 1, 2]
    assert shares.of([1]).sizes == (1,)


def test_an_agent_without_data_is_named() -> None:
    x, y = torch.zeros(3, 2), torch.zeros(3, dtype=torch.int64)
    some, none = torch.tensor([0]), torch.tensor([], dtype=torch.int64)
    refused(r"indices.*none for agent 1", Shares, x, y, (some, none))
    refused(r"rows from 0 to 2.*agent 0", Shares, x, y, (torch.tensor([3]),))
    refused("labels", Shares, x, y[:2], (some,))
    refused("indices", Shares, x, y, ())


def test_labels_may_be_several_numbers_except_in_the_papers_training() -> None:
    x, y, some = torch.zeros(3, 2), torch.zeros(3, 4), (torch.tensor([0, 2]),)
    several = Shares(x, y, some)
    assert several.of([0]).labels.shape == several.together().labels.shape == (3, 4)
    for wrong in (y[:2], y[:, :, None], torch.zeros(())):
        refused(r"labels: expected shape \(3,\), or several numbers", Shares, x, wrong, some)
    with pytest.raises(ValueError, match=r"labels: expected shape \(3,\), for .*\(3, 4\)"):
        several.check_fits(perceptron(2, 3, outputs=2))
    Shares(x, y[:, 0], some).check_fits(perceptron(2, 3, outputs=2))


def test_what_is_drawn_ahead_is_what_is_asked_for() -> None:
    plain, ahead = (Drawn([Order(20, 3, seed=1, agent=k) for k in range(3)]) for _ in range(2))
    some, since = [0, 2], [0, 0]
    for guess in ([4, 4], [9, 4], [4, 4]):  # the second guess is wrong
        found = ahead.rows(some, since, 4)
        np.testing.assert_array_equal(found, plain.rows(some, since, 4))
        ahead.ahead(some, guess, 4)
        since = [4, 4]
