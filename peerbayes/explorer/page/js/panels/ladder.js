// The sample ladder: how many rounds are enough, from the published formula to the proved interval.

import { el } from "../dom.js";
import { count } from "../words.js";
import { badge } from "./badge.js";

const steps = [
  ["printed", "printed in the paper", "not a theorem"],
  ["printed_p2", "printed in P2", "not a theorem"],
  ["repaired", "repaired (Hoeffding)", "upper bound"],
  ["chernoff", "Chernoff", "upper bound"],
  ["certified", "proved, both ends", "certified"],
];

/** Rows {name, label, kind, lower, upper}; lower is null where there is one number. */
export function roundsOf(numbers, certified) {
  const quick = numbers?.samples ?? {};
  const whole = certified?.result?.samples ?? certified?.ladder?.samples ?? {};
  return steps.flatMap(([name, label, kind]) => {
    const value = whole[name] ?? quick[name];
    if (value === null || value === undefined) return [];
    const [lower, upper] = Array.isArray(value)
      ? value
      : typeof value === "object"
        ? [value.lower, value.upper]
        : [null, value];
    return [{ name, label, kind, lower: lower === upper ? null : lower, upper }];
  });
}

/** The sharpest that is proved. */
export const best = (rows) => rows.filter((row) => row.kind !== "not a theorem").at(-1) ?? null;

/** The ladder as bars, and the error that it is for. */
export function render(app) {
  const { state } = app;
  if (state.view.kind === "regression") return null;
  const rows = roundsOf(state.numbers, state.certified);
  const before = state.pinned ? roundsOf(state.pinned.numbers, state.pinned.certified) : [];
  const most = Math.max(1, ...rows.map((one) => Math.log(1 + one.upper)));
  const text = ({ lower, upper }) => (lower === null ? count(upper) : `${count(lower)} to ${count(upper)}`);
  return el(
    "details",
    { open: true, "data-key": "ladder", "data-look": "samples" },
    el("summary", {}, "Rounds that are enough"),
    el(
      "div",
      { class: "field row" },
      el("label", { for: "delta" }, "for an error no more likely than"),
      el("input", {
        id: "delta",
        type: "number",
        min: 0.000001,
        max: 0.5,
        step: "any",
        value: state.settings.delta,
        onchange: (event) => {
          const delta = event.target.valueAsNumber;
          if (delta > 0 && delta < 1) state.set({ delta });
          else event.target.value = state.settings.delta;
        },
      }),
    ),
    rows.length
      ? el(
          "ul",
          { class: "bars" },
          rows.map((one) => {
            const was = before.find(({ name }) => name === one.name);
            return el(
              "li",
              { "data-key": one.name },
              el("span", { class: "bar-name" }, one.label),
              el(
                "span",
                { class: "bar-track", "aria-hidden": "true" },
                el("span", {
                  class: `bar bar-${one.kind.replaceAll(" ", "-")}`,
                  style: { width: `${(100 * Math.log(1 + one.upper)) / most}%` },
                }),
              ),
              el("span", { class: "number", "data-number": `samples.${one.name}` }, text(one)),
              badge(one.kind),
              was && text(was) !== text(one) ? el("span", { class: "was" }, `pinned ${text(was)}`) : null,
            );
          }),
        )
      : el("p", { class: "quiet" }, "None yet, or none for a network of this kind."),
  );
}
