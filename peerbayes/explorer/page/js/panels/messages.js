// What agents send in place of their beliefs: quantised messages.

import { el } from "../dom.js";
import { choice, whyNot } from "../fields.js";
import { controlsOf } from "./controls.js";

const quantisers = [
  ["", "beliefs as they are"],
  ["uniform", "all log-ratios, rounded"],
  ["deadband", "all, or nothing while little has changed"],
  ["single", "one log-ratio a round"],
  ["acknowledged", "over links that lose messages, answered"],
  ["unacknowledged", "over links that lose messages, unanswered"],
  ["samples", "counts of draws"],
  ["plain", "rounded, without memory"],
];
const starts = {
  uniform: { step: "1/2" },
  deadband: { step: "1/2", threshold: "1" },
  single: { step: "1/2", mixing: "1/4" },
  acknowledged: { step: "1/2", loss: "1/10" },
  unacknowledged: { step: "1/2", loss: "1/10" },
  samples: { draws: 16 },
  plain: { step: "1/2" },
};

export function render(app) {
  const { state } = app;
  const now = state.document.messages ?? null;
  return el(
    "details",
    { class: "panel", open: Boolean(now), "data-key": "messages" },
    el("summary", {}, "What agents send"),
    choice(
      "messages-kind",
      "Messages",
      quantisers,
      now ? (now.quantiser ?? "uniform") : "",
      (quantiser) =>
        state.edit([{ kind: "set-messages", ...(quantiser ? { quantiser, ...starts[quantiser] } : {}) }]),
      whyNot(state.view, "set-messages"),
    ),
    now ? controlsOf(app, "messages") : null,
  );
}
