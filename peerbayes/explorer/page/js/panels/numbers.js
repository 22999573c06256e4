// All numbers, each with what it is, beside the pinned ones and with its proved interval when that has come.

import { el, patch, together } from "../dom.js";
import { interval, number } from "../words.js";
import { badge } from "./badge.js";
import * as influences from "./influences.js";
import * as ladder from "./ladder.js";
import * as learnability from "./learnability.js";
import * as rates from "./rates.js";
import { valuesOf } from "./values.js";

export function mount(container, app) {
  const { state } = app;
  let visible = false;
  const show = () => {
    if (!visible || !state.view) return;
    patch(
      container,
      follows(app),
      table(state),
      rates.render(state),
      ladder.render(app),
      learnability.render(app),
      influences.render(app),
      notes(state),
    );
  };
  const soon = together(show);
  for (const topic of ["document", "certified", "pinned", "selection", "fold"]) state.on(topic, soon);
  return {
    show() {
      visible = true;
      show();
    },
    hide() {
      visible = false;
    },
  };
}

/** What goes on by itself: the proved numbers. */
function follows({ state }) {
  const told = state.certified;
  const { progress, status, line, result } = told ?? {};
  const words = !told
    ? "Proved numbers follow when the hand rests."
    : status === "running"
      ? progress
        ? "Proving …"
        : "Computing …"
      : status === "refused"
        ? `Not proved: ${line}`
        : result
          ? "Proved numbers are beside the floating-point ones."
          : "The whole sample ladder is shown.";
  return el(
    "div",
    { class: "follows", "data-key": "follows", role: "status" },
    el("span", {}, words),
    status === "running"
      ? el(
          "progress",
          progress
            ? { value: progress[0], max: progress[1] || 1, "aria-label": "Progress of the proof" }
            : { "aria-label": "Progress of the proof" },
        )
      : null,
  );
}

function row(key, name, value, { kind = "float", proved = null, before = undefined, after = null } = {}) {
  const text = number(value);
  const was = before !== undefined && number(before) !== text ? number(before) : null;
  return el(
    "tr",
    { "data-key": key, "data-look": key },
    el("th", { scope: "row" }, name),
    el(
      "td",
      {},
      el("span", { class: "number", "data-number": key }, text),
      value === null || value === undefined ? null : badge(kind),
      after,
      was ? el("span", { class: "was" }, `pinned ${was}`) : null,
      proved
        ? el("span", { class: "proved" }, interval([proved.lower, proved.upper]), badge("certified"))
        : null,
    ),
  );
}

function table(state) {
  const { numbers, pinned, certified, view } = state;
  const { learning, network = {} } = numbers ?? {};
  const [values, before] = [valuesOf(state), pinned && valuesOf(pinned)];
  const bound = (name) => (name ? el("span", { class: "after" }, `bound by ${name}`) : null);
  const line = (key, name, more = {}) =>
    row(key, name, values[key]?.value, {
      kind: values[key]?.kind,
      before: before ? before[key]?.value : undefined,
      ...more,
    });
  const proved = (part, key) => certified?.result?.[part]?.[key] ?? null;
  const faulty = view.kind === "faulty";
  return el(
    "table",
    { class: "numbers", "data-key": "table" },
    el("caption", {}, view.kind === "regression" ? "What the regression reaches" : "What the network learns"),
    el(
      "tbody",
      {},
      view.kind === "regression"
        ? [line("excess_error_constant", "Error × n"), line("limit", "Error left in the end")]
        : [
            line("rate", faulty ? "Learning rate K in spite of the faulty" : "Learning rate K", {
              proved: proved("learning", "rate"),
              after: bound(learning?.binding_hypothesis),
            }),
            faulty ? line("faultless", "Rate K, were all honest") : null,
            line("error_exponent", "Error exponent E", {
              proved: proved("learning", "error_exponent"),
              after: bound(learning?.binding_for_exponent),
            }),
          ],
      line("slem", "Subdominant modulus", { proved: proved("network", "slem") }),
      el("tr", { "data-key": "kind" }, el("th", { scope: "row" }, "Network"), el("td", {}, kindOf(network))),
    ),
  );
}

function kindOf(network) {
  if (network.irreducible === false) return "not everybody is heard by everybody";
  if (network.period > 1) return `takes turns with period ${network.period}`;
  return network.changes ?? (network.reversible ? "irreducible, reversible" : "irreducible");
}

function notes({ view, certified }) {
  const lines = [
    ...new Set([...(view.notes ?? []), ...(certified?.result?.notes ?? certified?.ladder?.notes ?? [])]),
  ];
  return lines.length
    ? el(
        "details",
        { "data-key": "notes" },
        el("summary", {}, "Notes"),
        el(
          "ul",
          { class: "notes" },
          lines.map((line) => el("li", {}, line)),
        ),
      )
    : null;
}
