// The network: its rule and parameters, and what happens to it (links fail, agents rest, messages are late).

import { el } from "../dom.js";
import { button, choice, text, whyNot } from "../fields.js";
import { controlsOf } from "./controls.js";

export const rules = ["uniform", "metropolis", "lazy-metropolis", "max-degree"];

export function render(app) {
  const { state, actions } = app;
  const { view, document } = state;
  const ruled = view.form === "topology" || view.form === "edges";
  const rule = view.rule ?? (ruled && document.network.edge_confidence !== undefined ? "confidence" : "");
  const options = [
    ["", "free"],
    ...rules.map((name) => [name, name]),
    ...(rule === "confidence" ? [["confidence", "edge confidence"]] : []),
  ];
  return el(
    "section",
    { class: "panel", "data-key": "network", "aria-label": "Network" },
    el("h2", {}, "Network"),
    text(
      "name",
      "Name",
      view.name,
      (name) => state.edit([{ kind: "set-name", name }]),
      { why: whyNot(view, "set-name") },
    ),
    text(
      "title",
      "Title",
      view.title,
      (title) => state.edit([{ kind: "set-name", name: view.name, title }]),
      { why: whyNot(view, "set-name") },
    ),
    controlsOf(app, "network"),
    choice(
      "rule",
      "Weights by rule",
      options,
      rule,
      (chosen) => state.edit([chosen ? { kind: "set-rule", rule: chosen } : { kind: "free-weights" }]),
      whyNot(view, "set-rule"),
    ),
    controlsOf(app, "learning"),
    el(
      "div",
      { class: "row" },
      button("Add an agent", () => actions.addAgent(), { key: "add", why: whyNot(view, "add-agent") }),
      ruled
        ? button("Free the weights", () => state.edit([{ kind: "free-weights" }]), {
            key: "free",
            why: whyNot(view, "free-weights"),
          })
        : null,
    ),
    changes(app),
  );
}

const kinds = [
  ["none", "nothing"],
  ["links", "links fail by chance"],
  ["presence", "agents rest and return"],
  ["delays", "messages are late"],
  ["gossip", "one pair at a time averages"],
  ["clocks", "one agent at a time wakes up"],
  ["walk", "a token walks the graph"],
];
const losses = [
  ["own", "the own belief"],
  ["renormalise", "whatever else arrived"],
  ["last", "the last that came"],
];

function changes(app) {
  const { state } = app;
  const now = state.document.network?.changes ?? { kind: "none" };
  const { kind, ...rest } = now;
  const why = whyNot(state.view, "set-changes");
  const options = kinds.some(([name]) => name === kind) ? kinds : [...kinds, [kind, kind]];
  return el(
    "details",
    { open: kind !== "none", class: "inner", "data-key": "changes" },
    el("summary", {}, "What happens to it"),
    choice(
      "changes-kind",
      "In each round",
      options,
      kind,
      (change) => state.edit([{ kind: "set-changes", change }]),
      why,
    ),
    controlsOf(app, "changes"),
    kind === "links" && !(state.view.controls ?? []).some(({ key }) => key.endsWith("on_loss"))
      ? choice(
          "changes-loss",
          "In place of a lost message",
          losses,
          now.on_loss ?? "own",
          (on_loss) => state.edit([{ kind: "set-changes", change: kind, ...rest, on_loss }]),
          why,
        )
      : null,
  );
}
