// Who breaks or lies, how, and by which rule the others pool.

import { el } from "../dom.js";
import { button, choice, text, whyNot } from "../fields.js";
import { controlsOf } from "./controls.js";

const behaviours = [
  ["push", "speak for one hypothesis"],
  ["split", "tell everybody another story"],
  ["colluding", "hide among the honest"],
  ["random-lies", "say something else each round"],
  ["constant-belief", "always say the same"],
  ["stuck-data", "always see the same"],
  ["silent", "say nothing"],
];
const poolings = [
  ["average", "geometric mean, as always"],
  ["trimmed-mean", "trimmed mean"],
  ["median", "median"],
  ["clip", "clip how far one may pull"],
];

export function render(app) {
  const { state } = app;
  const { view } = state;
  const faulty = view.faults?.faulty ?? [];
  const { behaviour = "push", rule = "average", count } = view.faults ?? {};
  const why = whyNot(view, "set-faults");
  const edit = (more) => state.edit([{ ...faultsEdit(view, faulty), ...more }]);
  return el(
    "details",
    { class: "panel", open: faulty.length > 0, "data-key": "faults" },
    el("summary", {}, "Liars and broken agents"),
    el(
      "p",
      { class: "quiet" },
      faulty.length
        ? `Faulty: ${faulty.map((i) => view.agents[i]).join(", ")}.`
        : "Nobody is faulty. Choose an agent and tick “Faulty” among its fields.",
    ),
    faulty.length
      ? choice(
          "behaviour",
          "What they do",
          known(behaviours, behaviour),
          behaviour,
          (chosen) => edit({ behaviour: chosen }),
          why,
        )
      : null,
    faulty.length || rule !== "average"
      ? choice(
          "pooling",
          "How the others pool",
          known(poolings, rule),
          rule,
          (chosen) => edit({ rule: chosen }),
          why,
        )
      : null,
    rule === "trimmed-mean"
      ? text(
          "trim",
          "Faulty neighbours allowed for",
          count ?? faulty.length,
          (typed) => edit({ count: Math.round(Number(typed)) }),
          { type: "number", min: 0, step: 1, why },
        )
      : null,
    controlsOf(app, "faults"),
    faulty.length ? button("Make all honest", () => edit({ faulty: [] }), { key: "honest", why }) : null,
  );
}

const known = (names, one) => (one && !names.some(([name]) => name === one) ? [...names, [one, one]] : names);

/** The edit that makes these agents faulty and leaves behaviour and rule as they are. */
export function faultsEdit(view, faulty) {
  const { behaviour, rule, count } = view.faults ?? {};
  const kept = { behaviour, rule, count: rule === "trimmed-mean" ? count : null };
  return {
    kind: "set-faults",
    faulty,
    ...Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== undefined && value !== null)),
  };
}
