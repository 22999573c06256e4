"""Learning with broken and lying agents, run."""

from exact.faults.simulation import FaultySimulation, simulate_faulty

__all__ = ["FaultySimulation", "simulate_faulty"]
