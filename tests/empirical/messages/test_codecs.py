"""What every codec of the registry owes: a contract that codecs join by being registered."""

import json
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load, save
from torch import Tensor

from empirical.messages.codec import (
    Codec,
    Heard,
    Layout,
    Memory,
    Remembering,
    Replicating,
    TwoWay,
)
from empirical.messages.codecs import (
    CODECS,
    Difference,
    Replica,
    codec_from_words,
    codec_named,
    codec_of,
)
from empirical.messages.streams import prepared
from tests.empirical.messages.layouts import NAMES, Own, layout_of, message
from tests.empirical.support import refused

# Registered codecs that nothing can be said in without a file of their own; none has to be here.
NEEDS_A_FILE = {"autoencoder"}
KINDS = sorted(CODECS.keys() - NEEDS_A_FILE)
# Codecs that measure by a belief's standard deviations, and refuse what is no belief.
BELIEFS_ONLY = {"posterior", "samples"}
# Codecs of messages of one vector, with settings for small nets and the fewest weights they take.
SETTINGS: dict[str, dict[str, Any]] = {
    "pruned": {"kept": 6},
    "spline": {"kept": 12, "exact": 2, "knots": 5},
}
FEWEST = {codec: settings["kept"] for codec, settings in SETTINGS.items()}


def made(codec: str, **settings: Any) -> Codec:
    """The codec with its defaults, or settings for small nets."""
    return codec_of(codec, **{**SETTINGS.get(codec, {}), **settings})


def takes(codec: str, names: str, size: int) -> bool:
    """Whether a codec has to take such messages; else it has to refuse them."""
    if codec in SETTINGS:
        return names == "mean" and size >= FEWEST[codec]
    return codec not in BELIEFS_ONLY or names != "mean"


def layouts(codec: str, *sizes: int) -> list[Layout]:
    """Of all messages that the codec takes: point nets, beliefs, beliefs with a gradient."""
    return [
        layout_of(size, own)
        for names, own in NAMES.items()
        for size in sizes
        if takes(codec, names, size)
    ]


@pytest.fixture(params=KINDS)
def codec(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def same(a: Memory, b: Memory) -> bool:
    return a.keys() == b.keys() and all(
        a[k].dtype == b[k].dtype and torch.equal(a[k], b[k]) for k in a
    )


def copied(memory: Memory) -> Memory:
    return {name: values.clone() for name, values in memory.items()}


def check_heard(heard: Heard, layout: Layout) -> None:
    """Shapes, numbers that are finite, and beliefs that are some."""
    assert tuple(heard.vectors) == layout.names
    sent = slice(None) if heard.sent is None else heard.sent
    if heard.sent is not None:
        assert (heard.sent.shape, heard.sent.dtype) == ((layout.size,), torch.bool)
    for name, values in heard.vectors.items():
        assert (values.shape, values.dtype) == ((layout.size,), torch.float32)
        assert torch.isfinite(values[sent]).all()
        if name == "precision":
            assert (values[sent] > 0).all()


def same_heard(a: Heard, b: Heard) -> bool:
    alike = a.sent is b.sent is None or torch.equal(a.sent, b.sent)
    return alike and same(dict(a.vectors), dict(b.vectors))


def test_a_codec_takes_what_it_is_for_and_refuses_the_rest(codec: str) -> None:
    for names, own in NAMES.items():
        for size in (1, 2, 17, 300):
            layout = layout_of(size, own)
            if takes(codec, names, size):
                prepared(made(codec), layout)  # leaves a belief, where it is one
                continue
            refused(r"^[^\n]*: expected [^\n]*$", made(codec).coder, layout)


def test_both_ends_agree_bit_for_bit(codec: str) -> None:
    """On memories and on what is heard, from a stream's beginning or from what was saved."""
    first = layouts(codec, 100_003)[0]
    for layout in (*layouts(codec, 1, 2, 17, 300), first):
        coder = made(codec).coder(layout)
        here, there, alone = coder.memory(), coder.memory(), coder.memory()
        shapes = {name: (v.dtype, v.shape) for name, v in here.items()}
        assert same(here, there)
        assert all(here[k].data_ptr() != there[k].data_ptr() for k in here if here[k].numel())
        for seed in range(2 if layout is first else 4):
            said = message(layout.size, layout.names, seed=seed)
            kept, twice = copied(said), copied(there)
            body = coder.encode(said, here, seed=seed)
            assert same(said, kept), "a codec leaves the message alone"
            heard = coder.decode(body, there, seed=seed)
            check_heard(heard, layout)
            assert same_heard(coder.decode(body, twice, seed=seed), heard)
            if isinstance(coder, TwoWay):  # it knows what will be heard
                written = coder.write(said, alone, seed=seed)
                assert written.body == body
                assert same_heard(written.heard(), heard)
                assert same(here, alone)
            assert same(here, there)
            assert same(there, twice)
            assert {name: (v.dtype, v.shape) for name, v in here.items()} == shapes
        fresh = codec_from_words(json.loads(json.dumps(made(codec).words()))).coder(layout)
        saved = load(save({"nothing": torch.zeros(1), **copied(here)}))
        del saved["nothing"]
        assert fresh.encode(said, saved, seed=9) == coder.encode(said, here, seed=9)
        assert same(here, saved)


def test_a_replica_around_any_codec_is_the_same_at_both_ends(codec: str) -> None:
    for layout in layouts(codec, 300)[:2]:
        if isinstance(made(codec).coder(layout), Remembering):
            for kind in (Difference, Replica):
                refused("inner: ", lambda kind=kind, one=layout: kind(made(codec)).coder(one))
            continue
        coder, in_place = (kind(made(codec)).coder(layout) for kind in (Difference, Replica))
        here, there, alone = coder.memory(), coder.memory(), in_place.memory()
        for seed in range(4):
            said = message(300, layout.names, seed=seed)
            body = coder.encode(said, here, seed=seed)
            assert body == in_place.encode(said, alone, seed=seed)
            heard = coder.decode(body, there, seed=seed)
            assert same(here, there)
            assert same(here, alone)
            check_heard(heard, layout)
            replica = coder.replica(here)
            assert all(torch.equal(replica[name], heard.vectors[name]) for name in layout.names)
        assert not isinstance(in_place, Replicating)


def test_a_message_said_again_and_again_is_heard_in_the_end(codec: str) -> None:
    """What is heard comes nearer to what is said, or was near at once; a replica gets there."""
    layout = layouts(codec, 64)[0]
    coder = made(codec).coder(layout)
    memory, said = coder.memory(), message(64, layout.names, seed=0)
    name = layout.names[-1]
    errors = []
    for seed in range(40):
        heard = coder.decode(coder.encode(said, copied(memory), seed=seed), memory, seed=seed)
        sent = torch.ones(64, dtype=torch.bool) if heard.sent is None else heard.sent
        errors.append(float(((heard.vectors[name] - said[name])[sent] ** 2).mean()))
    assert np.isfinite(errors).all()
    if isinstance(coder, Remembering) and codec not in BELIEFS_ONLY:
        assert errors[-1] < 0.01 * errors[0]
    else:
        assert min(errors) <= errors[0]


def test_numbers_at_the_ends(codec: str) -> None:
    """Zeros and subnormal numbers are written, and what is not finite is refused."""
    for layout in layouts(codec, 1, 17):
        if layout.names != ("mean",):
            continue
        coder = made(codec).coder(layout)
        for value in (0.0, 1e-42, -1e-45, 1e-38):
            here, there = coder.memory(), coder.memory()
            for seed in range(2):
                body = coder.encode({"mean": torch.full((layout.size,), value)}, here, seed=seed)
                check_heard(coder.decode(body, there, seed=seed), layout)
                assert same(here, there)
    layout = layouts(codec, 17)[0]
    coder = made(codec).coder(layout)
    for name in layout.names:
        for wrong in (float("nan"), float("inf"), -float("inf")):
            said = message(17, layout.names, seed=0)
            said[name][3] = wrong
            refused(f"^{name}: expected finite numbers", coder.encode, said, coder.memory(), seed=0)


@settings(max_examples=30, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("kind", KINDS)
def test_bytes_that_nobody_wrote_are_refused_or_read_but_never_break(kind: str, data: Any) -> None:
    layout = layouts(kind, 17)[-1]
    coder = made(kind).coder(layout)
    body = coder.encode(message(17, layout.names, seed=0), coder.memory(), seed=0)
    wrong = data.draw(
        st.one_of(
            st.binary(max_size=2 * len(body)),
            st.binary(min_size=len(body), max_size=len(body)),
            st.integers(0, len(body)).map(lambda n: body[:n]),
            st.integers(0, max(8 * len(body) - 1, 0)).map(lambda n: flipped(body, n)),
        )
    )
    with suppress(ValueError):
        heard = coder.decode(wrong, coder.memory(), seed=0)
        assert tuple(heard.vectors) == layout.names
        assert all(values.shape == (17,) for values in heard.vectors.values())


def flipped(body: bytes, place: int) -> bytes:
    changed = bytearray(body)
    if changed:
        changed[place // 8] ^= 1 << place % 8
    return bytes(changed)


# What is heard, and for how many bytes ----------------------------------------------------------


def by_sign(values: Tensor, start: Memory) -> Tensor:
    blocks = (values[:36], values[36:])
    return torch.cat([part.sign() * part.double().abs().mean().float() for part in blocks])


def by_direction(values: Tensor, start: Memory) -> Tensor:
    """M projected on the direction of M q, for the q that both ends begin with."""
    matrix = values[:36].reshape(6, 6).double()
    turned = matrix @ next(iter(start.values())).double()
    turned /= turned.norm()
    return torch.cat([(turned @ (turned.T @ matrix)).reshape(-1).float(), values[36:]])


# Of 40 weights, a matrix of 6 by 6 and a bias of 4: settings, bytes, and what is heard where
# something is said, in 3 of 10 weights with the codec `seeds`.
PROMISES: list[tuple[str, dict[str, Any], int, Any]] = [
    ("plain", {}, 160, lambda values, start: values),
    ("plain", {"kind": "float16"}, 80, lambda values, start: values.half().float()),
    ("plain", {"kind": "bfloat16"}, 80, lambda values, start: values.bfloat16().float()),
    ("seeds", {"share": 0.3}, 48, lambda values, start: values),
    ("seeds", {"share": 0.3, "kind": "float16"}, 24, lambda values, start: values.half().float()),
    ("sign", {}, 2 * 4 + 5, by_sign),
    ("low-rank", {}, 4 * (6 + 6 + 4), by_direction),
]


@pytest.mark.parametrize(("name", "settings", "size", "promised"), PROMISES)
def test_what_is_heard_and_for_how_many_bytes(
    name: str, settings: dict[str, Any], size: int, promised: Any
) -> None:
    layout, coder = layout_of(40), codec_of(name, **settings).coder(layout_of(40))
    said, counts = message(40, layout.names, seed=3), torch.zeros(40)
    for seed in range(200 if name == "seeds" else 1):
        start = coder.memory()
        body = coder.encode(said, copied(start), seed=seed)
        assert len(body) == size
        heard = coder.decode(body, copied(start), seed=seed)
        sent = torch.ones(40, dtype=torch.bool) if heard.sent is None else heard.sent
        counts += sent
        # The direction is rounded to float32, of numbers below 4.
        atol = 4 * 2.0**-22 if name == "low-rank" else 0.0
        wanted = promised(said["mean"], start)[sent]
        torch.testing.assert_close(heard.vectors["mean"][sent], wanted, rtol=0, atol=atol)
    if name == "seeds":
        assert int(sent.sum()) == 12
        # Every coordinate is drawn as often: 60 times in 200, five standard deviations of 6.5.
        assert ((counts - 60).abs() < 33).all()
    else:
        assert (counts == 1).all()


def test_low_rank_turns_to_the_best_approximation() -> None:
    """Eckart and Young: of one rank, the leading singular vectors."""
    coder = codec_of("low-rank").coder(layout_of(40))
    memory, said = coder.memory(), message(40, ("mean",), seed=3)
    for seed in range(60):
        heard = coder.decode(coder.encode(said, copied(memory), seed=seed), memory, seed=seed)
    left, values, right = torch.linalg.svd(said["mean"][:36].reshape(6, 6).double())
    best = values[0] * torch.outer(left[:, 0], right[0])
    torch.testing.assert_close(
        heard.vectors["mean"][:36].double(), best.reshape(-1), rtol=0, atol=1e-4
    )


def test_a_difference_keeps_the_inner_memory_of_its_own_reading() -> None:
    """Where the sender has to read what it wrote, writing must not have moved that memory."""
    layout = layout_of(300, NAMES["mean"])
    coder = Difference(Own()).coder(layout)
    here, there = coder.memory(), coder.memory()
    for seed in range(3):
        said = message(300, layout.names, seed=seed)
        heard = coder.decode(coder.encode(said, here, seed=seed), there, seed=seed)
        assert same(here, there)
        assert int(here["inner.count"]) == seed + 1  # not moved once more by reading
        # float32 differences to a replica add up again to one rounding each.
        assert torch.allclose(heard.vectors["mean"], said["mean"], rtol=1e-5, atol=1e-6)


# Names ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CODECS)
def test_words_and_spelling_make_the_same_codec(name: str) -> None:
    words = codec_of(name).words()
    assert words["codec"] == name
    assert codec_from_words(json.loads(json.dumps(words))) == codec_of(name)
    if name in NEEDS_A_FILE:
        return
    for one in (codec_of(name), codec_of("difference", inner=codec_of("topk", step=1e22))):
        assert codec_named(spelled(one.words())) == one


def spelled(words: dict[str, Any]) -> str:
    """What a command line says of a codec's words."""
    own = [f"{key}={value}" for key, value in words.items() if key not in ("codec", "inner")]
    outer = words["codec"] + (":" + ",".join(own) if own else "")
    return outer + ("+" + spelled(words["inner"]) if "inner" in words else "")


# What is written of a codec on a command line, or its name and settings; and what is wrong with it.
WRONG: dict[str, str] = {
    "topk:share": "settings of topk: expected settings such as share=0.05 .* got 'share'",
    "topk:share=": "settings of topk: expected settings such as",
    "topk:share=0.1,share=0.2": "each once, got 'share=0.2'",
    "topk:shares=0.1": "settings of topk: expected any of .*did you mean 'share'",
    "topk:share=true": "share: expected such as 0.1, got True",
    "topk:share=2": "share: expected a number above 0 and at most 1, got 2",
    "topk:share=0.0": "share: expected a number above 0",
    "topk:values=float8": "values: expected one of steps, float32, float16",
    "topk:step=-1.0": "step",
    "sign+topk": "settings of sign: expected none, got 'inner'",
    "difference+": "codec: expected one of plain, .* got 'difference\\+'",
    "quantised:kind=cubic": "kind: expected one of uniform, lloyd",
    "quantised:levels=4": "levels: expected an odd number",
    "quantised:step=0.0": "step",
    "posterior:step=0.0": "step",
    "posterior:halvings=16": "halvings: expected 0 to 15",
    "posterior:halvings=-1": "halvings",
    "posterior:mixing=2.0": "mixing: expected a number above 0",
    "samples:block_bits=30.0": "block_bits: expected 1 to 14 bits",
    "wavelet:depth=0": "depth",
    "plain:kind=float8": "kind: expected float32 or float16 or bfloat16, got 'float8'",
    "low-rank:rank=0": "rank: expected a whole number of at least 1, got 0",
    "spline:kept=500": "2 · 250 \\+ 50 exact values and knots",
    "pruned:kept=-1": "kept",
}


@pytest.mark.parametrize("text", WRONG)
def test_settings_out_of_range_and_names_spelled_wrongly_are_refused(text: str) -> None:
    refused(WRONG[text], codec_named, text)
