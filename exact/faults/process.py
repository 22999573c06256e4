"""One round of learning among faulty agents, for any rule of pooling.

The agents carry log-ratios against one hypothesis. Robust rules treat each pair of hypotheses on
its own, and what becomes of the pairs (best, θ) does not depend on the other pairs: it is enough
to carry these, M − 1 of M(M − 1)/2, to know whether `best` wins all its comparisons. Nothing an
agent does depends on which hypothesis is the best. With `against`, agents instead keep consistent
beliefs and pool their log-ratios against that one hypothesis.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from exact.changing.process import CountedWork, CountingRunner, counted_work
from exact.changing.simulation import Footprint, ProcessTask, process_task
from exact.checkpoint import Arrays
from exact.cost import Cost
from exact.learning import change_reference
from exact.results import Run
from exact.task import Task
from theory import FiniteModel, Network
from theory.network.structure import off_diagonal
from theory.robustness import Faults, honest_agents, honest_reference
from theory.robustness.behaviours import LARGEST_MESSAGE, Behaviour, Colluding, Speech, StuckData
from theory.robustness.faults import Average, Clip, Median, Rule, TrimmedMean
from theory.scientific import sparse
from theory.typed import typed
from theory.validation import FloatArray, IntArray, as_position

# One round of learning among faulty agents, for any rule of pooling ------------------------------


# Seconds for a number that is heard, on one core of a cloud server: averaged; put in order, and
# what each of the other neighbours adds to that.
AVERAGED, SORTED, MOVED = 3e-9, 1.4e-8, 2e-10


@dataclass(frozen=True, eq=False)
class Voice:
    """A speaking fault: rows of the table of messages, one for each listener or one for all."""

    agent: int
    speech: Speech
    rows: IntArray


class FaultyProcess:
    """What a round does where some agents are faulty; see :mod:`exact.changing.process`.

    Parameters
    ----------
    network, model
        N agents each.
    faults
        Checked, by agent.
    rule
        How honest agents (and those with stuck data) pool.
    best
        The hypothesis log-ratios are carried against.
    against
        The hypothesis they are pooled against; None for pair by pair.
    pool_every
        Agents pool in every so many rounds only.
    """

    def __init__(
        self,
        network: Network,
        model: FiniteModel,
        faults: dict[int, Behaviour],
        rule: Rule,
        *,
        best: int,
        against: int | None = None,
        pool_every: int = 1,
    ) -> None:
        self._rule = rule
        self._against = best if against is None else against
        self._pool_every = pool_every
        others = [m for m in range(len(model.hypotheses)) if m != best]
        self._others = np.array(others)
        # Column of `against` among the carried ones, if it is not what they are carried against.
        self._shift = None if self._against == best else others.index(self._against)

        agents = network.agents
        links = off_diagonal(network.weights)
        order = np.lexsort((links.column, links.row))
        rows, sources = links.row[order], links.column[order].copy()
        self._pointers = np.searchsorted(rows, np.arange(agents + 1)).astype(np.int64)
        self._weights = links.weight[order]
        self._own = np.asarray(sparse.csr_array(network.weights).diagonal(), dtype=np.float64)

        speakers = [a for a, b in faults.items() if not isinstance(b, StuckData)]
        self._pooling = np.setdiff1d(np.arange(agents), np.array(speakers, dtype=np.int64))
        self._honest = np.setdiff1d(np.arange(agents), np.array(list(faults), dtype=np.int64))
        self._stuck = [
            (a, self._ratios(b.datum(model, a)))
            for a, b in faults.items()
            if isinstance(b, StuckData)
        ]
        self._colluders = [
            (a, as_position("hypothesis", b.hypothesis, model.hypotheses), b.margin)
            for a, b in faults.items()
            if isinstance(b, Colluding)
        ]
        self._voices: list[Voice] = []
        messages = agents
        for agent, behaviour in faults.items():
            if isinstance(behaviour, StuckData | Colluding):
                continue
            heard_by = np.flatnonzero(sources == agent)
            speech = behaviour.speech(model, heard_by.size)
            own_rows = np.arange(messages, messages + heard_by.size)
            self._voices.append(Voice(agent, speech, own_rows))
            sources[heard_by] = own_rows
            messages += heard_by.size
        self._sources = sources
        self._messages = messages
        self._agents = agents
        self.restart(np.random.SeedSequence(0), replicates=1, columns=len(others))

    @property
    def layers(self) -> int:
        """Arrays of shape (N, R, C) kept: three, what is said, and counts; at least."""
        return 5 + -(-self._messages // self._agents)

    @property
    def links(self) -> int:
        """Messages of a round."""
        return self._sources.size

    @property
    def draws(self) -> int:
        """Random numbers of a round and replicate."""
        lies = sum(voice.speech.deviation > 0 for voice in self._voices)
        return lies * (self._others.size + 1)

    @property
    def hearing(self) -> float:
        """Seconds for a number that is heard: one that is averaged, or put in order."""
        each = AVERAGED
        if isinstance(self._rule, TrimmedMean | Median):
            each = SORTED + MOVED * self.links / self._agents
        return each / self._pool_every

    def restart(self, stream: np.random.SeedSequence, *, replicates: int, columns: int) -> None:
        """Forget the past: R replicates begin, and the count of discarded messages, (N, R)."""
        del columns
        self.discarded = np.zeros((self._agents, replicates), dtype=np.int64)
        self._noise = np.random.Generator(np.random.SFC64(stream))
        self._round = 0
        self._said: FloatArray = np.empty((self._messages, replicates, self._others.size))
        self._useless = np.zeros((self._messages, replicates), dtype=np.bool_)

    def advance(self, private: FloatArray, observed: FloatArray) -> FloatArray:
        """The private log-ratios after one more round, shape (N, R, C)."""
        from exact.faults.kernels import AVERAGE, CLIP, MEDIAN, TRIMMED, pool

        self._round += 1
        for agent, datum in self._stuck:
            observed[agent] = datum
        public = private + observed
        if self._round % self._pool_every:
            return public
        self._turn(public)
        said = self._said
        said[: public.shape[0]] = public
        self._speak(public)

        rule, tolerate, renormalise, radius = AVERAGE, 0, False, 0.0
        if isinstance(self._rule, TrimmedMean):
            rule, tolerate = TRIMMED, self._rule.tolerate
            renormalise = self._rule.lost == "renormalise"
        elif isinstance(self._rule, Median):
            rule = MEDIAN
        elif isinstance(self._rule, Clip):
            rule, radius = CLIP, float(self._rule.radius)
        else:
            assert isinstance(self._rule, Average)
        result = np.ascontiguousarray(private)
        pool(
            rule,
            tolerate,
            renormalise,
            radius,
            public,
            said,
            self._useless,
            self._pointers,
            self._sources,
            self._weights,
            self._own,
            self._pooling,
            result,
            self.discarded,
        )
        self._turn(result)
        return result

    def nothing(self) -> Arrays:
        """The count of messages thrown away, shape (N,), of no replicate."""
        return {"discarded": np.zeros(self._agents, dtype=np.int64)}

    def counted(self, replicates: int) -> Arrays:
        """The count of messages thrown away, shape (N,), of the first so many replicates."""
        return {"discarded": self.discarded[:, :replicates].sum(axis=1)}

    def _ratios(self, log_beliefs: FloatArray) -> FloatArray:
        """Log-ratios against the carried best, shape (..., C)."""
        best = np.setdiff1d(np.arange(log_beliefs.shape[-1]), self._others)
        return np.asarray(log_beliefs[..., best] - log_beliefs[..., self._others])

    def _turn(self, values: FloatArray) -> None:
        """From Λ(best, ·) to Λ(against, ·) or back, in place."""
        change_reference(values, self._shift)

    def _speak(self, public: FloatArray) -> None:
        """Fill the rows of `said` that are lies, and mark those that are no use."""
        replicates = public.shape[1]
        for agent, hypothesis, margin in self._colluders:
            honest = public[self._honest]
            said = self._said[agent]
            for column, theta in enumerate(self._others):
                # The pair of this column: against θ, unless θ is `against` itself.
                pair = self._pair(int(theta))
                if hypothesis == pair[1]:
                    said[:, column] = honest[..., column].min(axis=0) - margin
                elif hypothesis == pair[0]:
                    said[:, column] = honest[..., column].max(axis=0) + margin
                else:
                    said[:, column] = honest[..., column].mean(axis=0)
        for voice in self._voices:
            speech = voice.speech
            # Infinite entries may meet: what they give is thrown away below.
            with np.errstate(invalid="ignore", over="ignore"):
                lie = speech.offset + self._round * speech.slope
                table = np.repeat(lie[:, None, :], replicates, axis=1)
                if speech.deviation > 0:
                    noise = self._noise.standard_normal((replicates, table.shape[-1]))
                    table += speech.deviation * noise
                # Of every two hypotheses, so that use does not depend on what the best one is.
                usable = np.ptp(table, axis=-1) <= LARGEST_MESSAGE
                ratios = self._ratios(table)
                self._turn(ratios)
            self._said[voice.rows] = ratios
            self._useless[voice.rows] = ~usable

    def _pair(self, theta: int) -> tuple[int, int]:
        """The two hypotheses that the column of `theta` compares after `_turn`."""
        if theta == self._against:
            best = (set(range(self._others.size + 1)) - set(self._others.tolist())).pop()
            return theta, best
        return self._against, theta


# Learning with faulty agents, checked and cut up for :func:`exact.simulate` ----------------------


@dataclass(frozen=True, eq=False)
class FaultyTask(Task):
    """A simulation among faulty agents, of which the honest ones are watched.

    Attributes
    ----------
    run, model, reference, watched
        As for :class:`exact.task.Task`; `reference` is what the honest agents ought to find. An
        agent is wrong where the hypothesis that does best in comparison with the first of these is
        none of them.
    network, faults
        As given, with `against` as an index.
    task
        The simulation of the process alone.
    """

    network: Network
    faults: Faults
    task: ProcessTask

    def cost(self) -> Cost:
        """What it would take."""
        return self.task.cost()

    def work(self) -> CountedWork:
        """The replicates in units of work, with the messages that are thrown away in each."""
        return counted_work(self.task.work())

    def identity(self) -> tuple[object, ...]:
        """What the sums follow from."""
        run, faults, extent = self.run, self.faults, self.task.extent
        rules = (faults.behaviours, faults.rule, faults.against, faults.pool_every)
        units = (extent.plan.replicates, extent.block)
        numbers = (run.recorded, run.replicates, run.seed, run.paths, *units)
        return self.network.weights, self.model, rules, numbers


@typed
def faulty_task(network: Network, model: FiniteModel, *, faults: Faults, run: Run) -> FaultyTask:
    """The simulation of a network with faulty agents, checked and cut up.

    Raises
    ------
    ValueError
        If a behaviour does not fit, nobody is honest, an honest agent hears more faulty ones than
        the rule tolerates, or the run would take more than 10¹⁴ observations.
    """
    faults = faults.fitted(network, model)
    honest = honest_agents(network, faults.behaviours)
    reference = honest_reference(network, model, honest)
    against = (
        None if faults.against is None else as_position("against", faults.against, model.hypotheses)
    )
    process = FaultyProcess(
        network,
        model,
        dict(faults.behaviours),
        faults.rule,
        best=reference[0],
        against=against,
        pool_every=faults.pool_every,
    )
    task = process_task(
        process,
        model,
        run=run,
        reference=reference,
        footprint=Footprint(process.layers, process.links, process.draws, process.hearing),
        agents=honest.tolist(),
        runs=CountingRunner,
    )
    known = replace(faults, against=against)
    return FaultyTask(run, model, task.reference, task.watched, network, known, task)
