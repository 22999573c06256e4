"""The parts of a run: whether they fit, what agents hold, how they pool, by which products."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from empirical.kernels.products import SETTINGS, chosen
from empirical.likelihoods.laws import Likelihood
from empirical.messages.codec import Codec, Layout
from empirical.messages.selected import PRECISION
from empirical.nets.exchange import Exchange, block_of
from empirical.nets.shares import Shares
from empirical.train.averaging import Learner, Share, State
from empirical.train.coded_pooling import CodedPooling
from empirical.train.federated import ServedPooling, Server
from empirical.train.net import Net
from empirical.train.pooling import NetworkRounds, Pooling
from theory.changing import AnyNetwork, influence
from theory.validation import as_integer, fail

# Agents whose steps are computed together: on a CPU so few that their tensors stay in the cache
# (measured), elsewhere all.
AT_ONCE = 1


def check_device(device: str) -> str:
    """The device, if it can be used.

    Raises
    ------
    ValueError
        If it is neither ``"cpu"`` nor ``"cuda"``, or CUDA is asked for and absent.
    """
    if device not in ("cpu", "cuda"):
        raise fail("device", "'cpu' or 'cuda'", repr(device), "choose one of them")
    if device == "cuda" and not torch.cuda.is_available():
        raise fail("device", "a CUDA device", "none that torch can use", "use the device 'cpu'")
    return device


def one_each(name: str, value: int | Sequence[int], agents: int) -> list[int]:
    """A whole number of at least 1 for each agent, from one for all or from theirs.

    Raises
    ------
    ValueError
        If there are more or fewer, or one is out of range.
    """
    given = value if isinstance(value, Sequence) else [value] * agents
    if len(given) != agents:
        wanted = f"a number, or one for each of {agents} agents"
        raise fail(name, wanted, f"{len(given)} numbers", "give each agent one")
    return [as_integer(name, one, minimum=1) for one in given]


def check_fit(net: Net, likelihood: Likelihood, shares: Shares, network: AnyNetwork) -> None:
    """Refuse parts of a run that do not fit each other.

    Raises
    ------
    ValueError
        If network and data disagree about the number of agents, net and likelihood about that of
        outputs, or the net has no weights.
    """
    if network.agents != shares.agents:
        raise fail(
            "network",
            f"weights for {shares.agents} agents, as many as hold data",
            f"{network.agents}",
            "give W a row for each agent that holds data",
        )
    if net.outputs != likelihood.outputs:
        raise fail(
            "net",
            f"{likelihood.outputs} outputs, as the likelihood takes",
            net.outputs,
            "change the last layer",
        )
    if net.parameters < 1:
        raise fail("net", "at least one weight to train", net.parameters, "give it a layer")


def share_of(network: AnyNetwork, shares: Shares) -> Share:
    """n_i and v_i of all agents; v_i is the network's influence, in shares of its sum.

    Raises
    ------
    ValueError
        If nobody ever hears of an agent's data.
    """
    found = influence(network)
    if found.unheard.size:
        raise fail(
            "network",
            "agents whose data somebody hears of in the end",
            f"agent {int(found.unheard[0])} without influence",
            "give it listeners, or leave it out",
        )
    held = torch.tensor(shares.sizes, dtype=torch.float64)[:, None]
    values = torch.tensor(found.values / found.total, dtype=torch.float64)[:, None]
    return Share(held, values, sum(shares.sizes))


def pooling_of(
    network: AnyNetwork,
    net: Net,
    learner: Learner,
    first: State,
    *,
    exchange: Exchange | None,
    codec: Codec | None,
    missing: str,
    seed: int,
    server: Server | None = None,
) -> Pooling | CodedPooling | ServedPooling:
    """The consensus of a run; `first` is what one agent keeps before round 1.

    Raises
    ------
    ValueError
        As :class:`CodedPooling`, or if no server can serve the run.
    """
    begin = {name: values[0].clone() for name, values in learner.message(first).items()}
    if server is not None:
        server.check_fits(network, learner, codec, exchange)
        return ServedPooling(network, server, begin=begin, seed=seed)
    rounds = NetworkRounds(network, seed=seed)
    if codec is None:
        return Pooling(rounds, exchange=exchange, begin=begin)
    layout = layout_of_messages(net, learner, first)
    return CodedPooling(
        rounds, exchange=exchange, codec=codec, layout=layout, missing=missing, seed=seed
    )


def layout_of_messages(net: Net, learner: Learner, first: State) -> Layout:
    """What messages look like; `first` is what one agent keeps before round 1."""
    said = {name: values[0].cpu().clone() for name, values in learner.message(first).items()}
    examples, variance = 1.0, learner.belief(first).variance
    if PRECISION in said and variance is not None:
        examples = 1.0 / float((variance[0].double().cpu() * said[PRECISION].double()).mean())
    return Layout(said, net.blocks, examples)


def layout_of_net(net: Net, learner: Learner) -> Layout:
    """What messages of such nets look like, whoever trains them."""
    one = torch.ones(1, 1, dtype=torch.float64)
    return layout_of_messages(net, learner, learner.start(net.initial(0), Share(one, one, 1)))


def first_weights(
    net: Net, start: Tensor | None, *, agents: int, seed: int, to: str, server: Server | None
) -> Tensor:
    """What agents begin with, shape (1, d) where all begin alike, else (N, d).

    Raises
    ------
    ValueError
        If `start` has another shape, or a row for each agent where a server holds one for all.
    """
    start = net.initial(seed) if start is None else start
    shapes = (net.parameters,), (1, net.parameters), (agents, net.parameters)
    if tuple(start.shape) not in shapes:
        wanted = f"weights of shape ({net.parameters},) or ({agents}, {net.parameters})"
        raise fail("start", wanted, f"shape {tuple(start.shape)}", "give each agent a row")
    if server is not None and start.dim() == 2 and len(start) > 1:
        wanted, got = "one row of weights, which the server holds", f"{len(start)} rows"
        raise fail("start", wanted, got, "give the weights that all clients begin from")
    return start.to(to).reshape(-1, net.parameters)


def agreed_products(setting: str, net: Net, exchange: Exchange, *, agents: int, device: str) -> str:
    """The product that all processes of a run take: the fastest that every one of them may take.

    Parameters
    ----------
    net
        Only modules multiply by torch's products; those of nets of known layers are float32.
    exchange, agents
        How processes agree, and how many agents they hold together.

    Raises
    ------
    ValueError
        As :func:`~empirical.kernels.products.chosen`; or if the net cannot take the product.
    """
    if net.words.get("kind") != "module":
        if chosen("highest" if setting == "auto" else setting, device=device) != "highest":
            raise fail(
                "products", "'auto' or 'highest' for a net of known layers, which has its own",
                repr(setting), "leave products out",
            )  # fmt: skip
        return "highest"
    mine = chosen(setting, device=device)
    own = block_of(agents, processes=exchange.processes, rank=exchange.rank)
    same = torch.full((len(own), 1), SETTINGS.index(mine), dtype=torch.int64)
    return SETTINGS[int(exchange.collect(same, agents).min())]
