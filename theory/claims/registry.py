"""All claims, in the order of the page, by key."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from theory.claims import (
    beliefs,
    chains,
    compressed_gossip,
    consensus,
    corollary,
    inferences,
    lemma_one,
    misprints,
    mixing,
    repaired,
    theorem_one,
    topologies,
)
from theory.claims.claim import Claim

_ALL = (
    *lemma_one.CLAIMS,
    *mixing.CLAIMS,
    *theorem_one.CLAIMS,
    *repaired.CLAIMS,
    *corollary.CLAIMS,
    *beliefs.CLAIMS,
    *chains.CLAIMS,
    *consensus.CLAIMS,
    *topologies.CLAIMS,
    *inferences.CLAIMS,
    *misprints.CLAIMS,
    *compressed_gossip.CLAIMS,
)

CLAIMS: Mapping[str, Claim] = MappingProxyType({claim.key: claim for claim in _ALL})
"""Every claim of the registry by its key."""

if len(CLAIMS) != len(_ALL):
    raise AssertionError("two claims have the same key")
