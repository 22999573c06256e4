"""What the paper on GAE says of bits and accuracies (docs: mathematics/autoencoder-messages).

The abbreviation is the paper's, for its distributed training with an autoencoder. All numbers here
are whole or rational; logarithms of binomial coefficients are taken by their length in bits.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import factorial

from flint import fmpz

from theory.claims.claim import Claim, Effort, Finding, Witness

SOURCE = "GAE"
# Of section 5: weights, kept, exact at each end, latent, bits of a number and of an index; rounds.
WEIGHTS, KEPT, EXACT, LATENT, FLOAT, INDEX, ROUNDS = 613_514, 50_000, 250, 50, 32, 20, 300
FULL = WEIGHTS * FLOAT
PRUNED = KEPT * (INDEX + FLOAT)
CODED = KEPT * INDEX + (2 * EXACT + LATENT + 1) * FLOAT
# The autoencoder's layers, 49 500–128–64–50–64–128–49 500.
_BETWEEN = KEPT - 2 * EXACT
_WIDTHS = (_BETWEEN, 128, 64, LATENT, 64, 128, _BETWEEN)
AUTOENCODER = sum((a + 1) * b for a, b in pairwise(_WIDTHS))
# Table 1: (4 nodes, 16 nodes).
_TABLE = {
    "GAE balanced": (Fraction("0.9861"), Fraction("0.9747")),
    "pruned balanced": (Fraction("0.9893"), Fraction("0.9780")),
    "GAE unbalanced": (Fraction("0.9260"), Fraction("0.9320")),
    "pruned unbalanced": (Fraction("0.9562"), Fraction("0.9661")),
}


def set_bits() -> int:
    """Bits that name any set of KEPT out of WEIGHTS coordinates: ⌈log2 C(WEIGHTS, KEPT)⌉."""
    return int((fmpz.bin_uiui(WEIGHTS, KEPT) - 1).bit_length())


def list_bits() -> int:
    """Bits that name any list of KEPT different coordinates out of WEIGHTS, order included."""
    ways = fmpz.bin_uiui(WEIGHTS, KEPT) * factorial(KEPT)
    return int((ways - 1).bit_length())


def order_bits() -> int:
    """Bits that name any order of KEPT things: ⌈log2 KEPT!⌉."""
    return (factorial(KEPT) - 1).bit_length()


def _weights(effort: Effort) -> Finding:
    """Layers of the paper's Fig. 3: two unpadded convolutions, pooling by two, three dense."""
    side = (28 - 2 - 2) // 2
    layers = (
        (9 * 1 + 1) * 32, (9 * 32 + 1) * 64, (side * side * 64 + 1) * 64, (64 + 1) * 64,
        (64 + 1) * 10,
    )  # fmt: skip
    text = f"{' + '.join(map(str, layers))} = {sum(layers)}"
    return Finding(sum(layers) == WEIGHTS, text, float(WEIGHTS), float(sum(layers)), len(layers))


def _printed_bits(effort: Effort) -> Finding:
    rounded = (
        (FULL, Fraction("19.63e6"), 10_000), (PRUNED, Fraction("2.6e6"), 100_000),
        (CODED, Fraction("1.02e6"), 10_000),
    )  # fmt: skip
    holds = all(abs(exact - printed) * 2 <= step for exact, printed, step in rounded)
    return Finding(holds, f"{FULL}, {PRUNED} and {CODED} bits", cases=3)


def _two_orders(effort: Effort) -> Finding:
    whole, first, second = Fraction(FULL, CODED), Fraction(FULL, PRUNED), Fraction(PRUNED, CODED)
    text = (
        f"{FULL}/{CODED} = {float(whole):.1f}: {float(first):.2f} times by pruning, "
        f"{float(second):.2f} times by the autoencoder"
    )
    # Nearer to two orders of magnitude than to one, or not: 10^(3/2).
    return Finding(whole**2 > 1000, text, 100.0, float(whole))


def _tenth(effort: Effort) -> Finding:
    """Rounded to tens of per cent, the last digit printed that is not 0, as 3 % is to ones."""
    share = Fraction(KEPT, WEIGHTS)
    text = f"{KEPT}/{WEIGHTS} = {100 * float(share):.2f} % are kept, one in {float(1 / share):.2f}"
    return Finding(round(10 * share) == 1, text, 0.1, float(share))


def _lost(nodes: int) -> tuple[Fraction, Fraction]:
    """Points and share of the unbalanced baseline's accuracy that GAE loses."""
    column = {4: 0, 16: 1}[nodes]
    base, own = _TABLE["pruned unbalanced"][column], _TABLE["GAE unbalanced"][column]
    return base - own, (base - own) / base


def _three(relative: bool) -> Finding:
    """The worst case of Table 1 rounded to a whole percent."""
    worst = max(_lost(nodes)[relative] for nodes in (4, 16))
    text = (
        f"points: {100 * float(_lost(4)[0]):.2f} (4 nodes), {100 * float(_lost(16)[0]):.2f} (16); "
        f"of the baseline's accuracy: {100 * float(_lost(4)[1]):.2f} and "
        f"{100 * float(_lost(16)[1]):.2f} %"
    )
    return Finding(round(100 * worst) == 3, text, 0.03, float(worst), 2)


def _falls(split: str) -> Finding:
    rows = [_TABLE[f"{way} {split}"] for way in ("GAE", "pruned")]
    text = "; ".join(
        f"{float(few):.4f} with 4 nodes, {float(many):.4f} with 16" for few, many in rows
    )
    few, many = rows[0]
    return Finding(all(a > b for a, b in rows), text, float(few), float(many), len(rows))


def _who_sets(effort: Effort) -> Finding:
    """Eq. 6 pays for sending the threshold: whoever sets values to 0 by it is who receives it."""
    sent = CODED - KEPT * INDEX - (2 * EXACT + LATENT) * FLOAT
    text = (
        f"eq. 6 counts {sent} bits for the threshold; the encoder has it, and has every weight: "
        "only the decoder needs it sent"
    )
    return Finding(sent == 0, text, 0.0, float(sent))


def _list_bits(in_order: bool) -> Finding:
    """Whole bits of an index: of a list that also says the values' order, or of the set alone."""
    named = list_bits() if in_order else set_bits()
    text = (
        f"{'a list in the order of sorted values' if in_order else 'the set alone'} needs {named} "
        f"bits, {named / KEPT:.2f} an index; {KEPT * INDEX} are sent"
    )
    return Finding(-(-named // KEPT) == INDEX, text, float(INDEX), named / KEPT)


def _unsorted(effort: Effort) -> Finding:
    """Values in the order of their coordinates need no order: bits left for each of them."""
    left = CODED - set_bits()
    each = left // KEPT
    text = (
        f"a coded set leaves {left} of eq. 6's bits to the values: {each} bits each, unsorted; "
        f"sorting costs up to {order_bits()} bits of order"
    )
    return Finding(set_bits() + each * KEPT <= CODED and each >= 14, text, measured=float(each))


def _messages_alone(effort: Effort) -> Finding:
    text = f"eqs 5 and 6 as printed: {PRUNED}/{CODED} = {PRUNED / CODED:.3f}"
    return Finding(2 * CODED < PRUNED, text, 2.0, PRUNED / CODED)


def _with_the_autoencoder(effort: Effort) -> Finding:
    own = AUTOENCODER * FLOAT
    total, alone = own + ROUNDS * CODED, ROUNDS * PRUNED
    rounds = -(-own // (PRUNED - CODED))
    text = (
        f"{own / 1e6:.1f} Mbit of autoencoder and {ROUNDS * CODED / 1e6:.1f} of messages a node in "
        f"the paper's {ROUNDS} rounds, against {alone / 1e6:.0f} by pruning alone: "
        f"{alone / total:.2f} times; before round {rounds} GAE sends more"
    )
    return Finding(alone > 2 * total, text, 2.0, alone / total)


def _loss_bits(effort: Effort) -> Finding:
    text = (
        f"a message is [h, l] by eqs 3 and 7: beside the {CODED} bits of h it carries a loss, "
        f"{FLOAT} bits"
    )
    return Finding(FLOAT == 0, text, float(CODED), float(CODED + FLOAT))


def _central_training(effort: Effort) -> Finding:
    held = {4: 15_000, 16: 3_750}
    text = (
        "the autoencoder is trained on weights of nets that learnt from all 60 000 images in one "
        f"place, where a node holds {held[4]} or {held[16]}; what is left private is what these "
        "weights do not say, and that is not measured"
    )
    return Finding(max(held.values()) < 60_000, text, 60_000.0, float(max(held.values())), 2)


def _fails(
    key: str, title: str, statement: str, words: str, where: str, repaired: str,
    *witnesses: Witness, condition: str = "",
) -> Claim:  # fmt: skip
    return Claim(
        key, title, statement, words, f"{SOURCE} {where}", "exact", "fails", tuple(witnesses),
        condition=condition, repaired=repaired,
    )  # fmt: skip


CLAIMS = (
    Claim(
        "gae-weights", "Weights of the local net", r"N_\theta=613514",
        "Two convolutions and three dense layers.", f"{SOURCE} section 5", "exact", "holds",
        (Witness("support", "layer by layer", _weights),),
    ),
    Claim(
        "gae-bits", "Bits of a message",
        r"b_\theta=19.63\cdot10^6,\ b_{\theta,pr}=2.6\cdot10^6,\ b_{\theta,pr,ae}=1.02\cdot10^6",
        "Full, pruned and autoencoded weights.", f"{SOURCE} eqs 4 to 6", "exact", "holds",
        (Witness("support", "the three formulas", _printed_bits),),
    ),
    _fails(
        "gae-two-orders", "Compression by GAE", r"\text{nearly two orders of magnitude}",
        "Bits of full weights over those of GAE.", "abstract, section 5", "19.3 times",
        Witness("counterexample", "the paper's own bits", _two_orders),
    ),
    Claim(
        "gae-tenth", "How much is kept", r"\text{a factor of roughly }10\,\%",
        "Weights that pruning keeps: 8.15 %, one in 12.3.", f"{SOURCE} section 5", "exact", "holds",
        (Witness("support", "kept over all, rounded as printed", _tenth),),
    ),
    Claim(
        "gae-three-percent", "What GAE loses to pruning",
        r"\text{around }3\,\%\text{ in the worst case}",
        "The largest loss of accuracy against the pruned baseline. Percent may be points of "
        "accuracy, or of the baseline's accuracy.",
        f"{SOURCE} section 5, Table 1", "exact", "undecided from the text",
        (
            Witness("reading", "points of accuracy", lambda effort: _three(relative=False)),
            Witness("reading", "of the accuracy", lambda effort: _three(relative=True)),
        ),
        condition="read as points, rounded to whole ones: 3.02 with 4 nodes, 3.41 with 16",
    ),
    _fails(
        "gae-more-nodes", "Accuracy over nodes", r"\text{it decreases with the number of nodes}",
        "Accuracies of Table 1.", "section 5, Table 1", "it rises in both unbalanced rows",
        Witness("counterexample", "the unbalanced rows", lambda effort: _falls("unbalanced")),
        Witness("conditional", "the balanced rows", lambda effort: _falls("balanced")),
        condition="the data are balanced",
    ),
    _fails(
        "gae-threshold", "Who needs the threshold",
        r"\text{so that the encoder can set to 0 all values below}",
        "Why the pruning threshold is sent.", "section 4.3", "the decoder",
        Witness("counterexample", "what eq. 6 counts", _who_sets),
    ),
    Claim(
        "gae-index-list", "Bits of the indexes",
        r"\text{we need 20 bits to transmit the positions}",
        "What naming 50 000 of 613 514 weights takes. Eq. 6 sends values sorted, so that its list "
        "of indexes says their order too; eq. 5 sends them as they stand.",
        f"{SOURCE} section 5, eqs 5 and 6", "exact", "undecided from the text",
        (
            Witness("reading", "eq. 6, a list in order", lambda effort: _list_bits(in_order=True)),
            Witness("reading", "eq. 5, a set", lambda effort: _list_bits(in_order=False)),
            Witness("repaired", "unsorted values beside a coded set", _unsorted),
        ),
        condition="values are sent sorted, as by eq. 6: 19.17 bits an index, in whole bits 20",
        repaired="5.00 bits an index for eq. 5, whose set needs 249 958 bits",
    ),
    Claim(
        "gae-more-than-half", "What the autoencoder saves",
        r"\text{in more than half to using pruning}",
        "Bits of pruned weights over those of GAE: of a message, as eqs 5 and 6 count them, or of "
        "all that has to be sent.",
        f"{SOURCE} section 5", "exact", "undecided from the text",
        (
            Witness("reading", "a message", _messages_alone),
            Witness("reading", "the autoencoder's distribution counted", _with_the_autoencoder),
        ),
        condition="read of messages, eqs 5 and 6 as printed; the autoencoder is there already",
        repaired="with its distribution 1.09 times fewer over 300 rounds; before round 258 more",
    ),
    _fails(
        "gae-loss", "What eq. 6 leaves out",
        r"b_{\theta,pr,ae}=N_pb_{int}+(2w+N_l+1)b_{float}",
        "The number of bits that are sent.", "eq. 6, with eqs 3 and 7",
        "b_float more, for the sender's loss",
        Witness("counterexample", "what a message holds", _loss_bits),
        condition="the loss is not sent",
    ),
    Claim(
        "gae-privacy", "Privacy", r"\text{while preserving the privacy of the data}",
        "That data stay where they are is all that is shown. What weights say of the data is not "
        "measured, and the autoencoder is trained where all data are.",
        f"{SOURCE} abstract, section 5", "exact", "undecided from the text",
        (Witness("open", "the autoencoder's own training", _central_training),),
        condition="the autoencoder is trained on other data, and messages are shown to leak little",
    ),
)  # fmt: skip
