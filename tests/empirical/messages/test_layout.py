"""What all messages of a run look like: blocks without a gap, vectors of one length."""

import pytest
import torch
from torch import nn

from empirical.messages.codec import Block, Layout
from empirical.train.making import net_of
from empirical.train.module_net import with_constants
from tests.empirical.support import refused


@pytest.mark.parametrize("activation", [nn.ReLU, nn.GELU])
def test_blocks_are_where_the_tensors_stand(activation: type[nn.Module]) -> None:
    """Against `tensors`, which loads them: a weight of each block at a time."""
    module = nn.Sequential(nn.Conv2d(1, 2, 3), activation(), nn.Flatten(), nn.Linear(32, 3))
    net = with_constants(net_of(module, torch.zeros(2, 1, 6, 6), outputs=3), 2)
    assert [block.name for block in net.blocks] == [
        "0.weight", "0.bias", "3.weight", "3.bias", "constants",
    ]  # fmt: skip
    zeros = torch.zeros(net.parameters)
    Layout({"mean": zeros}, net.blocks)
    for block in net.blocks[:-1]:
        weights = zeros.clone()
        weights[block.start : block.start + torch.Size(block.shape).numel()] = torch.arange(
            1.0, torch.Size(block.shape).numel() + 1
        )
        tensors = net.tensors(weights)
        assert [name for name, values in tensors.items() if values.any()] == [block.name]
        found, own = tensors[block.name], torch.Size(block.shape).numel()
        flat = torch.arange(1.0, own + 1).reshape(block.shape)
        same = found.shape == flat.shape and torch.equal(found, flat)
        assert same or torch.equal(found, flat.T)


@pytest.mark.parametrize(
    ("begin", "blocks", "examples", "said"),
    [
        ({}, (), 1.0, "begin: expected vectors of one length, got none"),
        ({"a": torch.zeros(2), "b": torch.zeros(3)}, (), 1.0, r"begin: .*got \(2,\), \(3,\)"),
        ({"a": torch.zeros(2, 2)}, (), 1.0, r"begin: .*got \(2, 2\)"),
        (
            {"a": torch.zeros(4)},
            (Block("w", 1, (3,)),),
            1.0,
            "at coordinate 0, got 'w' at 1",
        ),
        ({"a": torch.zeros(4)}, (Block("w", 0, (3,)),), 1.0, "blocks: expected 4 coordinates in a"),
        ({"a": torch.zeros(4)}, (Block("w", 0, (2, 2)),), 0.0, "examples: expected"),
    ],
)
def test_what_is_no_layout(begin: dict, blocks: tuple, examples: float, said: str) -> None:
    refused(said, Layout, begin, blocks, examples)
