"""What every codec of the registry owes: a battery that codecs join by being registered."""

import json
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
pytest.importorskip("pywt")

from safetensors.torch import load, save  # noqa: E402

from empirical.messages.codec import (  # noqa: E402
    Codec,
    Coder,
    Heard,
    Hearing,
    Layout,
    Memory,
    Remembering,
    Replicating,
)
from empirical.messages.codecs import CODECS, codec_from_words, codec_named, codec_of  # noqa: E402
from empirical.messages.codecs.difference import Difference, Replica  # noqa: E402
from empirical.messages.streams import prepared  # noqa: E402
from tests.empirical.messages.layouts import NAMES, layout_of, message  # noqa: E402

SIZES = (1, 2, 17, 100_003)
# Registered codecs that nothing can be said in without a file of their own; none has to be here.
NEEDS_A_FILE = {"autoencoder"}
KINDS = sorted(CODECS.keys() - NEEDS_A_FILE)
# Codecs that measure by a belief's standard deviations, and refuse what is no belief.
BELIEFS_ONLY = {"posterior", "samples"}
# Settings of codecs whose defaults are for one large net.
SETTINGS: dict[str, dict[str, Any]] = {
    "pruned": {"kept": 6},
    "spline": {"kept": 12, "exact": 2, "knots": 5},
}


def made(codec: str) -> Codec:
    """The codec with its defaults, or settings for small nets."""
    return codec_of(codec, **SETTINGS.get(codec, {}))


def coder_of(codec: str, layout: Layout) -> Coder:
    """A coder, if the codec fits; it may refuse a net that is too small, or what is no belief."""
    try:
        return made(codec).coder(layout)
    except ValueError as error:
        said = str(error)
    if ": expected " not in said:
        pytest.fail(said)
    pytest.skip(f"{codec} does not fit: {said}")


@pytest.mark.parametrize("codec", KINDS)
def test_every_codec_fits_something(codec: str) -> None:
    made(codec).coder(layout_of(40, NAMES["belief" if codec in BELIEFS_ONLY else "mean"]))
    if codec in BELIEFS_ONLY:
        with pytest.raises(ValueError, match="messages of precision and shift"):
            made(codec).coder(layout_of(40))


def same(a: Memory, b: Memory) -> bool:
    return a.keys() == b.keys() and all(
        a[k].dtype == b[k].dtype and torch.equal(a[k], b[k]) for k in a
    )


def copied(memory: Memory) -> Memory:
    return {name: values.clone() for name, values in memory.items()}


def check_shape(heard: Heard, layout: Layout) -> None:
    assert tuple(heard.vectors) == layout.names
    for values in heard.vectors.values():
        assert values.shape == (layout.size,)
        assert values.dtype == torch.float32
    sent = slice(None) if heard.sent is None else heard.sent
    if heard.sent is not None:
        assert heard.sent.shape == (layout.size,)
        assert heard.sent.dtype == torch.bool
    for name, values in heard.vectors.items():
        assert torch.isfinite(values[sent]).all()
        if name == "precision":
            assert (values[sent] > 0).all()


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("codec", KINDS)
def test_both_ends_have_the_same_memory_after_every_message(
    codec: str, size: int, names: str
) -> None:
    layout = layout_of(size, NAMES[names])
    coder = coder_of(codec, layout)
    here, there = coder.memory(), coder.memory()
    assert same(here, there)
    assert all(here[k].data_ptr() != there[k].data_ptr() for k in here if here[k].numel())
    for seed in range(2 if size > 100 else 4):
        said = message(size, layout.names, seed=seed)
        kept = copied(said)
        twice = copied(there)
        body = coder.encode(said, here, seed=seed)
        assert same(said, kept), "a codec leaves the message alone"
        heard = coder.decode(body, there, seed=seed)
        assert same(here, there)
        check_shape(heard, layout)
        again = coder.decode(body, twice, seed=seed)
        assert all(torch.equal(again.vectors[k], heard.vectors[k]) for k in heard.vectors)
        assert same(twice, there)


@pytest.mark.parametrize("names", ["mean", "belief"])
@pytest.mark.parametrize("codec", KINDS)
def test_who_knows_what_will_be_heard_knows_it_bit_for_bit(codec: str, names: str) -> None:
    layout = layout_of(300, NAMES[names])
    coder = coder_of(codec, layout)
    if not isinstance(coder, Hearing):
        pytest.skip("the codec reads what it wrote, if it has to")
    here, there, alone = coder.memory(), coder.memory(), coder.memory()
    for seed in range(4):
        said = message(300, layout.names, seed=seed)
        written = coder.encode_heard(said, here, seed=seed)
        assert written.body == coder.encode(said, alone, seed=seed)
        heard = coder.decode(written.body, there, seed=seed)
        assert same(here, there)
        assert same(here, alone)
        assert same(dict(written.heard.vectors), dict(heard.vectors))
        assert (written.heard.sent is None) == (heard.sent is None)
        assert heard.sent is None or torch.equal(heard.sent, written.heard.sent)


@pytest.mark.parametrize("names", ["mean", "belief"])
@pytest.mark.parametrize("inner", KINDS)
def test_a_replica_around_any_codec_is_the_same_at_both_ends(inner: str, names: str) -> None:
    layout = layout_of(300, NAMES[names])
    if isinstance(coder_of(inner, layout), Remembering):
        for kind in (Difference, Replica):
            with pytest.raises(ValueError, match="inner: "):
                kind(made(inner)).coder(layout)
        return
    coder, in_place = (kind(made(inner)).coder(layout) for kind in (Difference, Replica))
    here, there, alone = coder.memory(), coder.memory(), in_place.memory()
    for seed in range(4):
        said = message(300, layout.names, seed=seed)
        body = coder.encode(said, here, seed=seed)
        assert body == in_place.encode(said, alone, seed=seed)
        heard = coder.decode(body, there, seed=seed)
        assert same(here, there)
        assert same(here, alone)
        check_shape(heard, layout)
        replica = coder.replica(here)
        assert all(torch.equal(replica[name], heard.vectors[name]) for name in layout.names)
    assert not isinstance(in_place, Replicating)


class InPlace:
    """A codec that counts its messages in place, and knows only by reading what it says."""

    name = "in place"

    def words(self) -> dict[str, Any]:
        return {"codec": self.name}

    def coder(self, layout: Layout) -> Any:
        self._layout = layout
        return self

    def memory(self) -> Memory:
        return {"count": torch.zeros(1, dtype=torch.int64)}

    def encode(self, said: Any, memory: Memory, *, seed: int) -> bytes:
        memory["count"].add_(1)
        values = torch.cat([said[name] for name in self._layout.names])
        return bytes([int(memory["count"])]) + values.numpy().tobytes()

    def decode(self, body: bytes, memory: Memory, *, seed: int) -> Heard:
        memory["count"].add_(1)
        if int(memory["count"]) != body[0]:
            raise ValueError(f"body: expected message {int(memory['count'])}, got {body[0]}")
        values = torch.frombuffer(bytearray(body[1:]), dtype=torch.float32)
        parts = values.reshape(len(self._layout.names), -1)
        return Heard(dict(zip(self._layout.names, parts, strict=True)))


def test_a_difference_keeps_the_inner_memory_of_its_own_reading() -> None:
    """Where the sender has to read what it wrote, writing must not have moved that memory."""
    layout = layout_of(300, NAMES["mean"])
    coder = Difference(InPlace()).coder(layout)
    here, there = coder.memory(), coder.memory()
    for seed in range(3):
        said = message(300, layout.names, seed=seed)
        heard = coder.decode(coder.encode(said, here, seed=seed), there, seed=seed)
        assert same(here, there)
        assert int(here["inner.count"]) == seed + 1  # not moved once more by reading
        # float32 differences to a replica add up again to one rounding each.
        assert torch.allclose(heard.vectors["mean"], said["mean"], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("names", ["mean", "belief"])
@pytest.mark.parametrize("codec", KINDS)
def test_memory_goes_on_from_what_was_saved(codec: str, names: str) -> None:
    layout = layout_of(17, NAMES[names])
    coder = coder_of(codec, layout)
    memory = coder.memory()
    coder.encode(message(17, layout.names, seed=0), memory, seed=0)
    again = load(
        save({"nothing": torch.zeros(1), **{k: v.contiguous() for k, v in memory.items()}})
    )
    del again["nothing"]
    assert same(memory, again)
    second = message(17, layout.names, seed=1)
    fresh = codec_from_words(json.loads(json.dumps(made(codec).words()))).coder(layout)
    assert coder.encode(second, memory, seed=1) == fresh.encode(second, again, seed=1)
    assert same(memory, again)


@pytest.mark.parametrize("names", ["mean", "belief"])
@pytest.mark.parametrize("codec", KINDS)
def test_shapes_of_memory_never_change(codec: str, names: str) -> None:
    layout = layout_of(300, NAMES[names])
    coder = coder_of(codec, layout)
    memory = coder.memory()
    before = {k: (v.dtype, v.shape) for k, v in memory.items()}
    for seed in range(3):
        coder.encode(message(300, layout.names, seed=seed), memory, seed=seed)
    assert {k: (v.dtype, v.shape) for k, v in memory.items()} == before


@pytest.mark.parametrize("codec", KINDS)
def test_words_make_the_same_codec(codec: str) -> None:
    words = codec_of(codec).words()
    assert words["codec"] == codec
    assert codec_from_words(json.loads(json.dumps(words))) == codec_of(codec)


def spelled(words: dict[str, Any]) -> str:
    """What a command line says of a codec's words."""
    own = [f"{key}={value}" for key, value in words.items() if key not in ("codec", "inner")]
    outer = words["codec"] + (":" + ",".join(own) if own else "")
    return outer + ("+" + spelled(words["inner"]) if "inner" in words else "")


@pytest.mark.parametrize("name", [name for name in CODECS if name != "autoencoder"])
def test_every_codec_can_be_spelled_with_all_its_settings(name: str) -> None:
    for codec in (codec_of(name), codec_of("difference", inner=codec_of("topk", step=1e22))):
        assert codec_named(spelled(codec.words())) == codec


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("topk:share", "settings of topk: expected settings such as share=0.05 .* got 'share'"),
        ("topk:share=", "settings of topk: expected settings such as"),
        ("topk:share=0.1,share=0.2", "each once, got 'share=0.2'"),
        ("topk:shares=0.1", "settings of topk: expected any of .*did you mean 'share'"),
        ("topk:share=true", "share: expected such as 0.1, got True"),
        ("topk:share=2", "share: expected a number above 0 and at most 1, got 2"),
        ("sign+topk", "settings of sign: expected none, got 'inner'"),
        ("difference+", "codec: expected one of plain, .* got 'difference\\+'"),
    ],
)
def test_codecs_that_are_spelled_wrongly(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        codec_named(text)


@pytest.mark.parametrize("codec", KINDS)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_bytes_that_nobody_wrote_are_refused_or_read_but_never_break(codec: str, data: Any) -> None:
    layout = layout_of(17, NAMES["belief" if codec not in SETTINGS else "mean"])
    coder = coder_of(codec, layout)
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


@pytest.mark.parametrize("codec", KINDS)
@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -float("inf")])
def test_what_is_not_finite_is_refused(codec: str, wrong: float) -> None:
    layout = layout_of(17)
    said = message(17, layout.names, seed=0)
    said["mean"][3] = wrong
    coder = coder_of(codec, layout)
    with pytest.raises(ValueError, match="finite"):
        coder.encode(said, coder.memory(), seed=0)


@pytest.mark.parametrize("codec", KINDS)
@pytest.mark.parametrize("value", [0.0, 1e-42, -1e-45, 1e-38])
@pytest.mark.parametrize("size", [1, 17])
def test_zeros_and_subnormal_numbers(codec: str, size: int, value: float) -> None:
    layout = layout_of(size)
    coder = coder_of(codec, layout)
    here, there = coder.memory(), coder.memory()
    for seed in range(2):
        body = coder.encode({"mean": torch.full((size,), value)}, here, seed=seed)
        check_shape(coder.decode(body, there, seed=seed), layout)
        assert same(here, there)


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("codec", KINDS)
def test_beliefs_stay_beliefs(codec: str, names: str) -> None:
    layout = layout_of(17, NAMES[names])
    coder_of(codec, layout)
    prepared(made(codec), layout)


@pytest.mark.parametrize("codec", KINDS)
def test_a_message_said_again_and_again_is_heard_in_the_end(codec: str) -> None:
    """What is heard comes nearer to what is said, or was near at once; a replica gets there."""
    layout = layout_of(64)
    coder = coder_of(codec, layout)
    memory, said = coder.memory(), message(64, layout.names, seed=0)
    errors = []
    for seed in range(40):
        heard = coder.decode(coder.encode(said, copied(memory), seed=seed), memory, seed=seed)
        sent = torch.ones(64, dtype=torch.bool) if heard.sent is None else heard.sent
        error = float(((heard.vectors["mean"] - said["mean"])[sent] ** 2).mean())
        errors.append(error)
    assert np.isfinite(errors).all()
    if hasattr(coder, "replica"):
        assert errors[-1] < 0.01 * errors[0]
    else:
        assert min(errors) <= errors[0]
