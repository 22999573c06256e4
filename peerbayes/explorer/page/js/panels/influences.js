// The influence v of each agent: bars, the largest first.

import { el } from "../dom.js";
import { button, fold } from "../fields.js";
import { influence, number, share } from "../words.js";

const mostBars = 40;

export function render(app) {
  const { state } = app;
  const v = influence(state.numbers);
  if (!v) return null;
  const names = state.view.agents;
  const most = Math.max(...v) || 1;
  const order = names.map((_, i) => i).sort((a, b) => v[b] - v[a] || a - b);
  return fold(
    app,
    "influence",
    "Influence v of each agent",
    { open: names.length <= 12, look: "influence" },
    () => [
      el(
        "ul",
        { class: "bars" },
        order.slice(0, mostBars).map((i) =>
          el(
            "li",
            { "data-key": `v${i}`, "data-look": `agent:${i}` },
            button(names[i], () => state.select({ agent: i }), {
              kind: "plain bar-name",
              key: `b${i}`,
              name: `${names[i]}, influence ${share(v[i])}`,
            }),
            el(
              "span",
              { class: "bar-track", "aria-hidden": "true" },
              el("span", { class: "bar", style: { width: `${(100 * v[i]) / most}%` } }),
            ),
            el("span", { class: "number", "data-number": `v.${i}` }, number(v[i])),
          ),
        ),
      ),
      names.length > mostBars
        ? el("p", { class: "quiet" }, `The ${mostBars} with the most influence, of ${names.length}.`)
        : null,
    ],
  );
}
