"""What to change in a network: weights, influence, edges, the placement of data."""

from typing import TYPE_CHECKING

from theory.lazy import show_lazily

if TYPE_CHECKING:
    from theory.design.constraints import Constraints
    from theory.design.directed.directed_mixing import LocalMixing, LocalStart, local_mixing
    from theory.design.edges.edge_ranking import EdgeEffect, RankedEdges, rank_edges, rank_removals
    from theory.design.edges.edge_variants import ChosenEdges, choose_edges
    from theory.design.exponent.best_exponent import (
        BestExponent,
        BindingPair,
        best_exponent,
        worst_case_exponent,
    )
    from theory.design.graph import Baseline, DesignGraph, baselines, star_centre, star_network
    from theory.design.influences.influence_set import InfluenceSet
    from theory.design.mixing.fastest import FastestMixing, MixingBound, fastest_mixing, reweighted
    from theory.design.placement.local import ProvedPlacement, prove_placement
    from theory.design.placement.place import Placement, place
    from theory.design.rate.changing_weights import ChangingWeights, changing_weights
    from theory.design.rate.edge_confidence import BestEdgeConfidence, best_edge_confidence
    from theory.design.rate.exact_optimal_rate import ExactOptimalRate, exact_optimal_rate
    from theory.design.rate.optimal_rate import OptimalRate, optimal_rate
    from theory.design.rate.rate_program import ReachableTargets, reachable_targets
    from theory.design.realisation.weights import realise, realise_exactly
    from theory.design.samples.converse import (
        EveryDesignBound,
        FewestSamples,
        SampleStart,
        every_design_bound,
        perfect_mixing,
    )
    from theory.design.samples.sample_search import fewest_samples
    from theory.design.samples.trade_off import TradeOff, TradePoint, trade_off
    from theory.design.search import Certificate, DesignFailed
else:
    show_lazily(__name__)

__all__ = [
    "Baseline",
    "BestEdgeConfidence",
    "BestExponent",
    "BindingPair",
    "Certificate",
    "ChangingWeights",
    "ChosenEdges",
    "Constraints",
    "DesignFailed",
    "DesignGraph",
    "EdgeEffect",
    "EveryDesignBound",
    "ExactOptimalRate",
    "FastestMixing",
    "FewestSamples",
    "InfluenceSet",
    "LocalMixing",
    "LocalStart",
    "MixingBound",
    "OptimalRate",
    "Placement",
    "ProvedPlacement",
    "RankedEdges",
    "ReachableTargets",
    "SampleStart",
    "TradeOff",
    "TradePoint",
    "baselines",
    "best_edge_confidence",
    "best_exponent",
    "changing_weights",
    "choose_edges",
    "every_design_bound",
    "exact_optimal_rate",
    "fastest_mixing",
    "fewest_samples",
    "local_mixing",
    "optimal_rate",
    "perfect_mixing",
    "place",
    "prove_placement",
    "rank_edges",
    "rank_removals",
    "reachable_targets",
    "realise",
    "realise_exactly",
    "reweighted",
    "star_centre",
    "star_network",
    "trade_off",
    "worst_case_exponent",
]
