"""Listening to a live network: what it does, beside what theory predicts of it."""

from __future__ import annotations
