"""`python -m theory.claims`: every search for a smallest counterexample, a few minutes in all."""

from __future__ import annotations

from collections.abc import Iterator

from theory.claims.search import (
    climb,
    search_chains,
    search_signed,
    search_theorem_one,
    search_theorem_two,
    search_three_agents,
)


def _lines() -> Iterator[str]:
    signed = search_signed()
    yield f"signed, two agents: {signed.found}, score {signed.score:.3f}, {signed.cases} cases"
    confident = search_signed(self_confident=True)
    yield (
        f"the same with W_ii > 0: {confident.found}, {confident.score:.3f}, {confident.cases} cases"
    )
    for denominator in range(2, 6):
        three = search_three_agents(denominator)
        yield (
            f"moduli, three agents, all {three.cases} with denominator {denominator}: "
            f"{three.score:.3f}"
        )
    wide = (*range(2, 40), 40, 50, 60, 80, 100, 150, 200, 300, 500, 1000)
    for family in ("restart", "birth-death"):
        for agents in (3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16):
            chain = search_chains(family, agents, denominators=wide)
            yield (
                f"moduli, {family}, {agents} agents: {chain.found}, {chain.score:.3f}, "
                f"{chain.cases} cases"
            )
    for agents, denominator in ((3, 20), (4, 12), (4, 40), (5, 8), (6, 4)):
        ascent = climb(agents, denominator, seed=0)
        yield (
            f"moduli, ascent, {agents} agents, denominator {denominator}: {ascent.score:.3f}, "
            f"{ascent.cases} moves"
        )
    for delta in (0.05, 0.01, 1e-3, 1e-6, 1e-12, 1e-20):
        theorem = search_theorem_one(delta)
        yield f"P1 Theorem 1, δ = {delta:g}: (C, γ, n) = {theorem.found}, {theorem.cases} cases"
        second = search_theorem_two(delta)
        yield f"P2 Theorem 1, δ = {delta:g}: (C, γ, ε, n) = {second.found}, {second.cases} cases"


if __name__ == "__main__":
    for line in _lines():
        print(line, flush=True)
