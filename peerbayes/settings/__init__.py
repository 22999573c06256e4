"""Settings of every question, each declared once: see `peerbayes.settings.declared`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from theory.lazy import show_lazily

if TYPE_CHECKING:
    from peerbayes.settings.live import Agent, Explore, Launch, Peer, Router, WatchRun
    from peerbayes.settings.nets import (
        CampaignRun,
        Experiment,
        Figures,
        RowOptions,
        Train,
        TrainFile,
    )
    from peerbayes.settings.questions import (
        Analyse,
        Design,
        Files,
        Formula,
        Limits,
        Placement,
        Resources,
        Simulate,
        Variant,
        Verify,
    )
else:
    show_lazily(__name__)

__all__ = [
    "Agent",
    "Analyse",
    "CampaignRun",
    "Design",
    "Experiment",
    "Explore",
    "Figures",
    "Files",
    "Formula",
    "Launch",
    "Limits",
    "Peer",
    "Placement",
    "Resources",
    "Router",
    "RowOptions",
    "Simulate",
    "Train",
    "TrainFile",
    "Variant",
    "Verify",
    "WatchRun",
]
