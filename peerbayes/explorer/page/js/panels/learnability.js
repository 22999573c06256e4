// What can be learnt at all: the best hypotheses, pairs that nobody tells apart, who is indispensable.

import { el } from "../dom.js";
import { button } from "../fields.js";

export function render({ state }) {
  const learning = state.numbers?.learning;
  if (!learning) return null;
  const {
    optimal_hypotheses: best = [],
    compromise,
    ambiguous_pairs: pairs = [],
    indispensable = [],
  } = learning;
  const names = state.view.agents;
  const pairText = (pair) => (Array.isArray(pair) ? pair.join(" and ") : String(pair));
  return el(
    "details",
    { open: true, "data-key": "learnability", "data-look": "learnability" },
    el("summary", {}, "What can be learnt"),
    el(
      "dl",
      {},
      el("dt", {}, best?.length ? "Best for everybody" : "No hypothesis is best for everybody"),
      el(
        "dd",
        { "data-look": "optimal" },
        best?.length ? best.join(", ") : compromise ? `the network settles on ${compromise}` : "–",
      ),
      el("dt", {}, "Pairs that nobody tells apart"),
      el(
        "dd",
        { "data-look": "ambiguous" },
        pairs?.length
          ? el(
              "ul",
              {},
              pairs.slice(0, 30).map((pair) => el("li", {}, pairText(pair))),
            )
          : "none",
      ),
      el("dt", {}, "Indispensable: without them the best is not found"),
      el(
        "dd",
        { "data-look": "indispensable" },
        indispensable?.length
          ? indispensable.slice(0, 30).map((i) =>
              button(names[i] ?? String(i), () => state.select({ agent: i }), {
                kind: "chip",
                key: `i${i}`,
              }),
            )
          : "nobody",
      ),
    ),
  );
}
