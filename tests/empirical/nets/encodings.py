"""Encodings that no one would use, for tests of what is between them and the wire."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from empirical.nets.messages import Message, Natural


class HalfMessages:
    """Natural parameters in bfloat16, each in a tensor of its own."""

    broadcast = True

    def encode(self, natural: Natural, *, sender: int, round: int) -> Message:
        values = {"p": natural.precision.bfloat16(), "s": natural.shift.bfloat16()}
        return Message(values, 2 * sum(v.numel() for v in values.values()))

    def decode(self, message: Message, *, receiver: int) -> Natural:
        return Natural(message.payload["p"].float(), message.payload["s"].float())

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        pass


class PrivateMessages(HalfMessages):
    """Agent i hears 1 + i times what was sent; messages differ in length and kinds of tensors."""

    broadcast = False

    def encode(self, natural: Natural, *, sender: int, round: int) -> Message:
        payload = {
            "p": natural.precision,
            "s": natural.shift.double(),
            "padding": torch.zeros(sender, 2, dtype=torch.uint8),
        }
        return Message(payload, 12 * len(natural.shift) + 2 * sender)

    def decode(self, message: Message, *, receiver: int) -> Natural:
        louder = 1 + receiver
        return Natural(louder * message.payload["p"], louder * message.payload["s"].float())
