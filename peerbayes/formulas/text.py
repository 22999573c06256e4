"""Closed forms for people: expressions as text, and the tables of `formula`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text
from sympy import Symbol, latex, true
from sympy.printing.str import StrPrinter

# A matrix of many agents has too many entries for a table; JSON has them all.
_MOST_PAIRS = 16


class FormulaPrinter(StrPrinter):  # type: ignore[misc]
    """sympy's plain text, with the field's signs in place of Python's."""

    def _print_Pow(self, expr: Any, rational: bool = False) -> str:  # noqa: N802
        return str(super()._print_Pow(expr, rational)).replace("**", "^")

    def _print_Abs(self, expr: Any) -> str:  # noqa: N802
        return f"|{self._print(expr.args[0])}|"

    def _print_Max(self, expr: Any) -> str:  # noqa: N802
        return self._call("max", expr)

    def _print_Min(self, expr: Any) -> str:  # noqa: N802
        return self._call("min", expr)

    def _print_chebyshevt(self, expr: Any) -> str:
        return self._call("T", expr)

    def _print_chebyshevu(self, expr: Any) -> str:
        return self._call("U", expr)

    def _print_Sum(self, expr: Any) -> str:  # noqa: N802
        *inner, (symbol, first, last) = expr.limits
        body = expr.func(expr.function, *inner) if inner else expr.function
        ends = f"{symbol}={self._print(first)}..{self._print(last)}"
        return f"sum[{ends}]({self._print(body)})"

    def _print_Derivative(self, expr: Any) -> str:  # noqa: N802
        return f"d/d{expr.variables[0]} ({self._print(expr.expr)})"

    def _print_Piecewise(self, expr: Any) -> str:  # noqa: N802
        cases = [
            self._print(value) + ("" if condition is true else f" if {self._print(condition)}")
            for value, condition in expr.args
        ]
        return ", else ".join(cases)

    def _print_Relational(self, expr: Any) -> str:  # noqa: N802
        if expr.rel_op == "==":
            return f"{self._print(expr.lhs)} = {self._print(expr.rhs)}"
        return str(super()._print_Relational(expr))

    def _call(self, name: str, expr: Any) -> str:
        return f"{name}({', '.join(self._print(part) for part in expr.args)})"


def plain_text(expression: Any) -> str:
    """An expression for people: powers with ^, moduli with bars, cases in words."""
    return str(FormulaPrinter().doprint(expression))


def formula_parts(formula: Any) -> list[RenderableType]:
    """The tables of `formula`."""
    parts: list[RenderableType] = [Text(f"{formula.topology}: {formula.title}"), Text()]
    if formula.parameters:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for column in ("parameter", "", "domain", "meaning"):
            table.add_column(column, overflow="fold")
        for p in formula.parameters:
            default = "" if p.default is None else f"; else {p.default}"
            given = p.domain + default if p.value is None else f"= {p.value}"
            table.add_row(p.name, p.symbol, given, p.meaning)
        parts.append(table)
    entries = [(weight.entry, weight.text) for weight in formula.weights]
    if len(entries) <= _MOST_PAIRS:
        parts.append(_rows(entries))
    else:
        parts.append(Text(f"W: {len(entries)} positive weights, see --json"))
    parts.append(Text())
    parts.append(_rows(_lines(formula, tex=False)))
    if len(formula.deviation_matrix) > _MOST_PAIRS:
        parts.append(Text(f"Z: {len(formula.deviation_matrix)} entries, see --json"))
    parts.append(Text())
    parts.append(Text("\n".join(_words(formula))))
    parts.append(Text(checked(formula.checks)))
    if formula.samples is not None:
        parts += [Text(), *sheet_parts(formula.samples)]
    return parts


def sheet_parts(sheet: Any) -> list[RenderableType]:
    """The tables of sample sizes, or of risk."""
    parts: list[RenderableType] = [Text(sheet.title), Text()]
    parts.append(_rows([(bound.name, bound.text) for bound in sheet.bounds]))
    values = [(bound.name, f"{bound.value:.12g}") for bound in sheet.bounds if bound.value]
    if values:
        parts += [Text(), Text("at the values given"), _rows(values)]
    parts += [Text(), _rows([(one.symbol, f"{one.text}   ({one.words})") for one in sheet.where])]
    letters = [
        (
            letter.symbol,
            letter.meaning if letter.value is None else f"{letter.value}: {letter.meaning}",
        )
        for letter in sheet.letters
    ]
    parts += [Text(), _rows(letters), Text()]
    words = [
        f"{bound.name}: {bound.words}{'' if bound.is_theorem else ' (not a theorem)'}"
        for bound in sheet.bounds
    ]
    words += [f"note: {sentence}" for sentence in sheet.notes]
    return [*parts, Text("\n".join(words)), Text(checked(sheet.checks))]


def checked(checks: Any) -> str:
    """The last line: what the formulas were checked against, and how that ended."""
    where = f"at {checks.points} random rational parameter values"
    if checks.points == 1:
        where = "at the values given"
    if checks.passed:
        return f"checked {where} against exact arithmetic"
    failed = [c.quantity for c in checks.comparisons if c.failures]
    return f"CHECK FAILED {where}: {', '.join(failed)}"


def latex_text(formula: Any) -> str:
    """The formulas as LaTeX, one aligned block."""
    if not hasattr(formula, "deviation_matrix"):
        return _aligned(_sheet_lines(formula))
    lines = [f"{label} &= {expression}" for label, expression in _lines(formula, tex=True)]
    if formula.samples is not None:
        lines += _sheet_lines(formula.samples)
    return _aligned(lines)


def _sheet_lines(sheet: Any) -> list[str]:
    lines = [rf"\text{{{bound.name}}} &= {bound.latex}" for bound in sheet.bounds]
    return lines + [f"{latex(Symbol(one.symbol))} &= {one.latex}" for one in sheet.where]


def _aligned(lines: Sequence[str]) -> str:
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}\n"


def family_parts(families: Sequence[Any]) -> list[RenderableType]:
    """The table of `formula list`."""
    table = Table(title="Closed forms", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("topology", no_wrap=True)
    table.add_column("what it is", overflow="fold")
    table.add_column("parameters", overflow="fold")
    for family in families:
        options = " ".join("--" + name.replace("_", "-") for name in family.parameters)
        table.add_row(family.name, family.title, options)
    return [table, Text("'risk' has the bounds on risk, which are of no network")]


def _lines(formula: Any, *, tex: bool) -> list[tuple[str, str]]:
    """All formulas, as (label, expression), in text or LaTeX."""

    def label(letter: str, name: str) -> str:
        return f"{letter}_{{\\text{{{name}}}}}" if tex else f"{letter} ({name})"

    def plain(word: str, letter: str) -> str:
        return letter if tex else word

    def shown(expression: Any) -> str:
        return str(expression.latex if tex else expression.text)

    lines = [(label("v", c.name), shown(c.stationary)) for c in formula.classes]
    lines += [
        (plain("eigenvalue", r"\lambda"), shown(e) + _repeated(e, tex=tex))
        for e in formula.eigenvalues
    ]
    for found, word, letter in (
        (formula.characteristic_polynomial, "det(xI - W)", r"\det(xI-W)"),
        (formula.slem, "subdominant modulus", r"\lambda_*"),
        (formula.second_eigenvalue, "second eigenvalue", r"\lambda_2"),
    ):
        if found is not None:
            lines.append((plain(word, letter), shown(found)))
    pairs = formula.deviation_matrix
    if tex or len(pairs) <= _MOST_PAIRS:
        lines += [(label("Z", p.pair), shown(p)) for p in pairs]
    lines += [
        (label("D", c.name), shown(c.deviation)) for c in formula.classes if c.deviation is not None
    ]
    lines.append(("K", shown(formula.rate)))
    exponent = shown(formula.gaussian_exponent)
    lines.append((plain("E (normal z)", r"E_{\text{normal}}"), exponent))
    return lines + [
        (rf"\text{{{s.name}}}" if tex else s.name, shown(s)) for s in formula.statements
    ]


def _repeated(eigenvalue: Any, *, tex: bool) -> str:
    """For which indices, and how often; nothing for a single eigenvalue."""
    words = [f"{x.symbol} = {x.first}..{x.last}".replace("**", "^") for x in eigenvalue.indices]
    if tex:
        words = [rf"{x.symbol}={x.first},\dots,{x.last}" for x in eigenvalue.indices]
    times = eigenvalue.multiplicity.latex if tex else eigenvalue.multiplicity.text
    if times != "1":
        words.append(rf"{times}\text{{ times}}" if tex else f"{times} times")
    space = r"\quad " if tex else "   "
    return "".join((space if place == 0 else ", ") + word for place, word in enumerate(words))


def _words(formula: Any) -> list[str]:
    """What the letters mean, and what needs a word."""
    names = {"everyone": "all agents"}
    words = [
        f"{c.information}: I_j of the {c.name}"
        if c.size.text == "1"
        else f"{c.information}: sum of I_j over {names.get(c.name, c.name + ' agents')}"
        for c in formula.classes
        if not c.name.startswith("agent ")
    ]
    symbols = {s: w for p in formula.deviation_matrix for s, w in p.symbols.items()}
    words += [f"{symbol}: {meaning}" for symbol, meaning in symbols.items()]
    words.append("Z = sum over k >= 0 of W^k - 1v'; D_i = sum over k >= 1, j of |W^k_ij - v_j|")
    words += [f"{s.name}: {s.words}" for s in formula.statements]
    return words + [f"note: {note}" for note in formula.notes]


def _rows(lines: Sequence[tuple[str, str]]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, expression in lines:
        table.add_row(Text(name), Text(expression))
    return table
