// All numbers, each with what it is, beside the pinned ones and with its proved interval when that has come.

import { el, shownTogether } from "../dom.js";
import { button, part } from "../fields.js";
import { interval, number } from "../words.js";
import { influences, ladder, rates } from "./bars.js";
import { badge, valuesOf } from "./values.js";

const parts = [follows, table, rates, ladder, learnability, influences, notes];

export const mount = (container, app) => shownTogether(container, app.state,
  ["document", "certified", "pinned", "selection", "fold"], () => parts.map((part) => part(app)));

/** What goes on by itself: the proved numbers. */
function follows({ state }) {
  const { progress, status, line, result } = state.certified ?? {};
  const words = {
    undefined: "Proved numbers follow when the hand rests.",
    running: progress ? "Proving …" : "Computing …",
    refused: `Not proved: ${line}`,
    done: result ? "Proved numbers are beside the floating-point ones." : "The whole sample ladder is shown.",
  };
  const [value, max] = progress ? [progress[0], progress[1] || 1] : [];
  return el("div", { class: "follows", "data-key": "follows", role: "status" },
    el("span", {}, words[status]),
    status === "running" ? el("progress", { value, max, "aria-label": "Progress of the proof" }) : null);
}

function row(key, name, value, { kind = "float", proved = null, before = undefined, after = null }) {
  const text = number(value);
  const was = before !== undefined && number(before) !== text ? number(before) : null;
  return el("tr", { "data-key": key, "data-look": key }, el("th", { scope: "row" }, name), el("td", {},
    el("span", { class: "number", "data-number": key }, text),
    value === null || value === undefined ? null : badge(kind),
    after,
    was ? el("span", { class: "was" }, `pinned ${was}`) : null,
    proved ? el("span", { class: "proved" }, interval([proved.lower, proved.upper]), badge("certified")) : null));
}

function table({ state }) {
  const { numbers, pinned, certified, view } = state;
  const { learning, network = {} } = numbers ?? {};
  const [values, before] = [valuesOf(state), pinned && valuesOf(pinned)];
  const bound = (name) => (name ? el("span", { class: "after" }, `bound by ${name}`) : null);
  const line = (key, name, part = null, after = null) => row(key, name, values[key]?.value, {
    kind: values[key]?.kind,
    before: before ? before[key]?.value : undefined,
    proved: certified?.result?.[part]?.[key] ?? null,
    after,
  });
  const faulty = view.kind === "faulty";
  const regression = view.kind === "regression";
  const of = regression
    ? [line("excess_error_constant", "Error × n"), line("limit", "Error left in the end")]
    : [
      line("rate", `Learning rate K${faulty ? " in spite of the faulty" : ""}`, "learning", bound(learning?.binding_hypothesis)),
      faulty ? line("faultless", "Rate K, were all honest") : null,
      line("error_exponent", "Error exponent E", "learning", bound(learning?.binding_for_exponent)),
    ];
  return el("table", { class: "numbers", "data-key": "table" },
    el("caption", {}, regression ? "What the regression reaches" : "What the network learns"),
    el("tbody", {}, of, line("slem", "Subdominant modulus", "network"),
      el("tr", { "data-key": "kind" }, el("th", { scope: "row" }, "Network"), el("td", {}, kindOf(network)))));
}

function kindOf(network) {
  if (network.irreducible === false) return "not everybody is heard by everybody";
  if (network.period > 1) return `takes turns with period ${network.period}`;
  return network.changes ?? (network.reversible ? "irreducible, reversible" : "irreducible");
}

/** What can be learnt at all: the best hypotheses, pairs that nobody tells apart, who is indispensable. */
function learnability({ state }) {
  const learning = state.numbers?.learning;
  if (!learning) return null;
  const { optimal_hypotheses: best, compromise, ambiguous_pairs: pairs, indispensable } = learning;
  const names = state.view.agents;
  const pairText = (pair) => el("li", {}, Array.isArray(pair) ? pair.join(" and ") : String(pair));
  const agent = (i) => button(names[i] ?? String(i), () => state.select({ agent: i }), { kind: "chip", key: `i${i}` });
  const settles = compromise ? `the network settles on ${compromise}` : "–";
  const entry = (title, look, content) => [el("dt", {}, title), el("dd", { "data-look": look }, content)];
  return part("learnability", "What can be learnt", { look: "learnability" }, el("dl", {},
    entry(best?.length ? "Best for everybody" : "No hypothesis is best for everybody", "optimal",
      best?.length ? best.join(", ") : settles),
    entry("Pairs that nobody tells apart", "ambiguous",
      pairs?.length ? el("ul", {}, pairs.slice(0, 30).map(pairText)) : "none"),
    entry("Indispensable: without them the best is not found", "indispensable",
      indispensable?.length ? indispensable.slice(0, 30).map(agent) : "nobody")));
}

function notes({ state }) {
  const { view, certified } = state;
  const of = certified?.result?.notes ?? certified?.ladder?.notes ?? [];
  const lines = [...new Set([...(view.notes ?? []), ...of])];
  if (!lines.length) return null;
  return part("notes", "Notes", { open: false }, el("ul", { class: "notes" }, lines.map((line) => el("li", {}, line))));
}
