"""A net small enough to be judged by hand: outputs = A x, with A the weights."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from empirical.messages.codec import Block


@dataclass(frozen=True)
class Linear:
    """Of `inputs` numbers, `outputs` linear ones."""

    inputs: int
    outputs: int

    @property
    def parameters(self) -> int:
        return self.inputs * self.outputs

    @property
    def words(self) -> dict[str, object]:
        return {"net": "linear", "inputs": self.inputs, "outputs": self.outputs}

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (Block("weight", 0, (self.outputs, self.inputs)),)

    def initial(self, seed: int) -> Tensor:
        return torch.zeros(self.parameters)

    def outputs_of(self, weights: Tensor, inputs: Tensor) -> Tensor:
        matrix = weights.reshape(-1, self.outputs, self.inputs)
        return torch.einsum("noi,nbi->nbo", matrix, inputs.expand(len(weights), -1, -1))

    def tensors(self, weights: Tensor) -> dict[str, Tensor]:
        return {"weight": weights.reshape(self.outputs, self.inputs)}
