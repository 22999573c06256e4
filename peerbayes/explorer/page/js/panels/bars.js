// Numbers as bars: how fast each hypothesis is rejected, how many rounds are enough, who has influence.

import { bar, el } from "../dom.js";
import { button, fold, part } from "../fields.js";
import { influence, number, share } from "../words.js";
import { badge, roundsOf, roundsText } from "./values.js";

const mostBars = 40;
const bars = (rows) => el("ul", { class: "bars" }, rows.slice(0, mostBars));
const pinned = (text) => el("span", { class: "was" }, `pinned ${text}`);

/** How fast each hypothesis is rejected, the slowest first. */
export function rates({ state }) {
  const { rates: now, exponents = {}, binding_hypothesis: binding } = state.numbers?.learning ?? {};
  const before = state.pinned?.numbers?.learning?.rates ?? {};
  const names = Object.keys(now ?? {}).sort((a, b) => now[a] - now[b]);
  if (names.length < 2) return null;
  const most = Math.max(...names.map((name) => now[name] ?? 0)) || 1;
  const title = `How fast each ${state.view.kind === "faulty" ? "is rejected in spite of the faulty" : "hypothesis is rejected"}`;
  const row = (name) => {
    const was = before[name] !== undefined && number(before[name]) !== number(now[name]);
    return bar(name, el("span", { class: "bar-name" }, name, name === binding ? el("b", {}, " · binds") : null),
      Math.max(0, now[name]) / most,
      el("span", { class: "number", "data-number": `rates.${name}` }, number(now[name]),
        exponents[name] !== undefined ? el("span", { class: "quiet" }, ` E ${number(exponents[name])}`) : null,
        was ? pinned(number(before[name])) : null),
      { look: `hypothesis:${name}` });
  };
  return part("rates", title, {}, bars(names.map(row)));
}

/** How many rounds are enough, and the error that they are for. */
export function ladder({ state }) {
  if (state.view.kind === "regression") return null;
  const rows = roundsOf(state);
  const before = state.pinned ? roundsOf(state.pinned) : [];
  const most = Math.max(1, ...rows.map((one) => Math.log(1 + one.upper)));
  const onchange = ({ target }) => {
    const delta = target.valueAsNumber;
    if (delta > 0 && delta < 1) state.set({ delta });
    else target.value = state.settings.delta;
  };
  const ends = { min: 0.000001, max: 0.5, step: "any" };
  const row = (one) => {
    const was = before.find(({ name }) => name === one.name);
    return bar(one.name, el("span", { class: "bar-name" }, one.label), Math.log(1 + one.upper) / most,
      el("span", { class: "number", "data-number": `samples.${one.name}` }, roundsText(one)),
      { kind: `bar-${one.kind.replaceAll(" ", "-")}` },
      badge(one.kind),
      was && roundsText(was) !== roundsText(one) ? pinned(roundsText(was)) : null);
  };
  return part("ladder", "Rounds that are enough", { look: "samples" },
    el("div", { class: "field row" },
      el("label", { for: "delta" }, "for an error no more likely than"),
      el("input", { id: "delta", type: "number", ...ends, value: state.settings.delta, onchange })),
    rows.length ? bars(rows.map(row))
      : el("p", { class: "quiet" }, "None yet, or none for a network of this kind."));
}

/** The influence v of each agent, the largest first. */
export function influences(app) {
  const { state } = app;
  const v = influence(state.numbers);
  if (!v) return null;
  const names = state.view.agents;
  const most = Math.max(...v) || 1;
  const order = names.map((_, i) => i).sort((a, b) => v[b] - v[a] || a - b);
  const name = (i) => button(names[i], () => state.select({ agent: i }),
    { kind: "plain bar-name", key: `b${i}`, name: `${names[i]}, influence ${share(v[i])}` });
  const row = (i) => bar(`v${i}`, name(i), v[i] / most,
    el("span", { class: "number", "data-number": `v.${i}` }, number(v[i])), { look: `agent:${i}` });
  return fold(app, "influence", "Influence v of each agent", { open: names.length <= 12, look: "influence" }, () => [
    bars(order.slice(0, mostBars).map(row)),
    names.length > mostBars
      ? el("p", { class: "quiet" }, `The ${mostBars} with the most influence, of ${names.length}.`) : null,
  ]);
}
