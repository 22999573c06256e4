"""Live peers: agents of a network as processes of their own, on one machine or on several."""

from __future__ import annotations
