"""Learning with broken and lying agents, run."""

from exact.faults.simulation import FaultySimulation, faulty_cost, simulate_faulty

__all__ = ["FaultySimulation", "faulty_cost", "simulate_faulty"]
