// How fast each hypothesis is rejected: bars, the slowest first.

import { el } from "../dom.js";
import { number } from "../words.js";

const mostBars = 40;

export function render(state) {
  const { numbers, pinned } = state;
  const { rates: now, exponents = {}, binding_hypothesis: binding } = numbers?.learning ?? {};
  const names = Object.keys(now ?? {});
  if (names.length < 2) return null;
  const most = Math.max(...names.map((name) => now[name] ?? 0)) || 1;
  const sorted = [...names].sort((a, b) => now[a] - now[b]);
  return el(
    "details",
    { open: true, "data-key": "rates" },
    el(
      "summary",
      {},
      state.view.kind === "faulty"
        ? "How fast each is rejected in spite of the faulty"
        : "How fast each hypothesis is rejected",
    ),
    el(
      "ul",
      { class: "bars" },
      sorted
        .slice(0, mostBars)
        .map((name) =>
          el(
            "li",
            { "data-key": name, "data-look": `hypothesis:${name}` },
            el("span", { class: "bar-name" }, name, name === binding ? el("b", {}, " · binds") : null),
            el(
              "span",
              { class: "bar-track", "aria-hidden": "true" },
              el("span", { class: "bar", style: { width: `${(100 * Math.max(0, now[name])) / most}%` } }),
            ),
            el(
              "span",
              { class: "number", "data-number": `rates.${name}` },
              number(now[name]),
              exponents[name] !== undefined
                ? el("span", { class: "quiet" }, ` E ${number(exponents[name])}`)
                : null,
              pinned &&
                pinned.numbers?.learning?.rates?.[name] !== undefined &&
                number(pinned.numbers.learning.rates[name]) !== number(now[name])
                ? el("span", { class: "was" }, `pinned ${number(pinned.numbers.learning.rates[name])}`)
                : null,
            ),
          ),
        ),
    ),
  );
}
