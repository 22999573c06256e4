// All numbers, each with what it is, beside the pinned ones and with its proved interval when that has come.

import { el, patch } from "../dom.js";
import { button } from "../fields.js";
import { count, influence, interval, number, share } from "../words.js";
import { badge } from "./badge.js";
import { roundsOf } from "./ladder.js";
import * as learnability from "./learnability.js";
import { valuesOf } from "./values.js";

const mostBars = 40;

export function mount(container, app) {
  const { state } = app;
  let visible = false;
  const show = () => {
    if (!visible || !state.view) return;
    patch(container, follows(app), table(state), rates(state), ladder(app), learnability.render(app), influences(app), notes(state));
  };
  for (const topic of ["document", "certified", "pinned", "selection"]) state.on(topic, show);
  return { show() { visible = true; show(); }, hide() { visible = false; } };
}

/** What goes on by itself: the proved numbers. */
function follows({ state }) {
  const told = state.certified;
  const { progress, status, line, result } = told ?? {};
  const words = !told ? "Proved numbers follow when the hand rests." : status === "running" ? (progress ? "Proving …" : "Computing …")
    : status === "refused" ? `Not proved: ${line}` : result ? "Proved numbers are beside the floating-point ones." : "The whole sample ladder is shown.";
  return el("div", { class: "follows", "data-key": "follows", role: "status" }, el("span", {}, words),
    status === "running" ? el("progress", progress ? { value: progress[0], max: progress[1] || 1, "aria-label": "Progress of the proof" } : { "aria-label": "Progress of the proof" }) : null);
}

function row(key, name, value, { kind = "float", proved = null, before = undefined, after = null } = {}) {
  const text = number(value);
  const was = before !== undefined && number(before) !== text ? number(before) : null;
  return el("tr", { "data-key": key, "data-look": key },
    el("th", { scope: "row" }, name),
    el("td", {}, el("span", { class: "number", "data-number": key }, text), value === null || value === undefined ? null : badge(kind), after,
      was ? el("span", { class: "was" }, `pinned ${was}`) : null,
      proved ? el("span", { class: "proved" }, interval([proved.lower, proved.upper]), badge("certified")) : null));
}

function table(state) {
  const { numbers, pinned, certified, view } = state;
  const { learning, network = {} } = numbers ?? {};
  const [values, before] = [valuesOf(state), pinned && valuesOf(pinned)];
  const bound = (name) => (name ? el("span", { class: "after" }, `bound by ${name}`) : null);
  const line = (key, name, more = {}) => row(key, name, values[key]?.value, { kind: values[key]?.kind, before: before ? before[key]?.value : undefined, ...more });
  const proved = (part, key) => certified?.result?.[part]?.[key] ?? null;
  const faulty = view.kind === "faulty";
  return el("table", { class: "numbers", "data-key": "table" },
    el("caption", {}, view.kind === "regression" ? "What the regression reaches" : "What the network learns"),
    el("tbody", {},
      view.kind === "regression" ? [line("excess_error_constant", "Error × n"), line("limit", "Error left in the end")] : [
        line("rate", faulty ? "Learning rate K in spite of the faulty" : "Learning rate K", { proved: proved("learning", "rate"), after: bound(learning?.binding_hypothesis) }),
        faulty ? line("faultless", "Rate K, were all honest") : null,
        line("error_exponent", "Error exponent E", { proved: proved("learning", "error_exponent"), after: bound(learning?.binding_for_exponent) }),
      ],
      line("slem", "Subdominant modulus", { proved: proved("network", "slem") }),
      el("tr", { "data-key": "kind" }, el("th", { scope: "row" }, "Network"), el("td", {}, kindOf(network)))));
}

function kindOf(network) {
  if (network.irreducible === false) return "not everybody is heard by everybody";
  if (network.period > 1) return `takes turns with period ${network.period}`;
  return network.changes ?? (network.reversible ? "irreducible, reversible" : "irreducible");
}

function rates(state) {
  const { numbers, pinned } = state;
  const { rates: now, exponents = {}, binding_hypothesis: binding } = numbers?.learning ?? {};
  const names = Object.keys(now ?? {});
  if (names.length < 2) return null;
  const most = Math.max(...names.map((name) => now[name] ?? 0)) || 1;
  const sorted = [...names].sort((a, b) => now[a] - now[b]);
  return el("details", { open: true, "data-key": "rates" }, el("summary", {}, state.view.kind === "faulty" ? "How fast each is rejected in spite of the faulty" : "How fast each hypothesis is rejected"),
    el("ul", { class: "bars" }, sorted.slice(0, mostBars).map((name) => el("li", { "data-key": name, "data-look": `hypothesis:${name}` },
      el("span", { class: "bar-name" }, name, name === binding ? el("b", {}, " · binds") : null),
      el("span", { class: "bar-track", "aria-hidden": "true" }, el("span", { class: "bar", style: { width: `${(100 * Math.max(0, now[name])) / most}%` } })),
      el("span", { class: "number", "data-number": `rates.${name}` }, number(now[name]), exponents[name] !== undefined ? el("span", { class: "quiet" }, ` E ${number(exponents[name])}`) : null,
        pinned && pinned.numbers?.learning?.rates?.[name] !== undefined && number(pinned.numbers.learning.rates[name]) !== number(now[name])
          ? el("span", { class: "was" }, `pinned ${number(pinned.numbers.learning.rates[name])}`) : null)))));
}

function ladder(app) {
  const { state } = app;
  if (state.view.kind === "regression") return null;
  const rows = roundsOf(state.numbers, state.certified);
  const before = state.pinned ? roundsOf(state.pinned.numbers, state.pinned.certified) : [];
  const most = Math.max(1, ...rows.map((one) => Math.log(1 + one.upper)));
  const text = ({ lower, upper }) => (lower === null ? count(upper) : `${count(lower)} to ${count(upper)}`);
  return el("details", { open: true, "data-key": "ladder", "data-look": "samples" }, el("summary", {}, "Rounds that are enough"),
    el("div", { class: "field row" }, el("label", { for: "delta" }, "for an error no more likely than"),
      el("input", { id: "delta", type: "number", min: 0.000001, max: 0.5, step: "any", value: state.settings.delta,
        onchange: (event) => { const delta = event.target.valueAsNumber; if (delta > 0 && delta < 1) state.set({ delta }); else event.target.value = state.settings.delta; } })),
    rows.length ? el("ul", { class: "bars" }, rows.map((one) => {
      const was = before.find(({ name }) => name === one.name);
      return el("li", { "data-key": one.name }, el("span", { class: "bar-name" }, one.label),
        el("span", { class: "bar-track", "aria-hidden": "true" }, el("span", { class: `bar bar-${one.kind.replaceAll(" ", "-")}`, style: { width: `${(100 * Math.log(1 + one.upper)) / most}%` } })),
        el("span", { class: "number", "data-number": `samples.${one.name}` }, text(one)), badge(one.kind),
        was && text(was) !== text(one) ? el("span", { class: "was" }, `pinned ${text(was)}`) : null);
    })) : el("p", { class: "quiet" }, "None yet, or none for a network of this kind."));
}

function influences({ state, actions }) {
  const v = influence(state.numbers);
  if (!v) return null;
  const names = state.view.agents;
  const most = Math.max(...v) || 1;
  const order = names.map((_, i) => i).sort((a, b) => v[b] - v[a] || a - b);
  return el("details", { open: names.length <= 12, "data-key": "influence", "data-look": "influence" }, el("summary", {}, "Influence v of each agent"),
    el("ul", { class: "bars" }, order.slice(0, mostBars).map((i) => el("li", { "data-key": `v${i}`, "data-look": `agent:${i}` },
      button(names[i], () => state.select({ agent: i }), { kind: "plain bar-name", key: `b${i}`, name: `${names[i]}, influence ${share(v[i])}` }),
      el("span", { class: "bar-track", "aria-hidden": "true" }, el("span", { class: "bar", style: { width: `${(100 * v[i]) / most}%` } })),
      el("span", { class: "number", "data-number": `v.${i}` }, number(v[i]))))),
    names.length > mostBars ? el("p", { class: "quiet" }, `The ${mostBars} with the most influence, of ${names.length}.`) : null);
}

function notes({ view, certified }) {
  const lines = [...new Set([...(view.notes ?? []), ...(certified?.result?.notes ?? certified?.ladder?.notes ?? [])])];
  return lines.length ? el("details", { "data-key": "notes" }, el("summary", {}, "Notes"), el("ul", { class: "notes" }, lines.map((line) => el("li", {}, line)))) : null;
}
