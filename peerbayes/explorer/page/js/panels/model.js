// The model: hypotheses by name, what is true, and the data sets, to be dragged onto agents.

import { el } from "../dom.js";
import { part, sends, text } from "../fields.js";
import { hue, plural } from "../words.js";
import { truthField } from "./selected.js";

export function render(app) {
  const { state } = app;
  const { view } = state;
  return el("section", { class: "panel", "data-key": "model", "aria-label": "Model" },
    el("h2", {}, "Evidence and hypotheses"),
    view.groups?.length ? el("div", { "data-key": "groups" },
      el("p", { class: "quiet", id: "groups-how" },
        "Drag a data set onto an agent; or choose an agent and, in its fields, its evidence."),
      el("ul", { class: "chips", "aria-describedby": "groups-how" },
        view.groups.map((label, g) => dataset(app, label, g)))) : null,
    view.hypotheses?.length ? part("hypotheses", plural(view.hypotheses.length, "hypothesis", "hypotheses"),
      { open: view.hypotheses.length <= 6 },
      el("p", { class: "quiet" }, "Rename one here. Colours are those of the pies in a run."),
      view.hypotheses.map((name, k) => hypothesis(state, name, k)),
      truthField(state, null, "truth-all", "")) : null);
}

function hypothesis(state, of, k) {
  return el("div", { class: "row", "data-key": `h${k}` },
    el("span", { class: "swatch", "aria-hidden": "true", style: { "background-color": hue(k) } }),
    text(`hypothesis-${k}`, `Hypothesis ${k + 1}`, of, sends(state, "rename-hypothesis", (name) => ({ of, name }))));
}

/** A data set that can be dragged by mouse and touch onto an agent of the graph. */
function dataset({ state, graph, actions }, label, group) {
  const holders = state.view.evidence.flatMap((one, i) => (one.of === group ? [i] : []));
  const over = (event) => graph.agentAt(graph.point(event.clientX, event.clientY), 20);
  const held = (chip) => chip.classList.contains("held");
  const drop = (chip) => {
    chip.classList.remove("held");
    chip.style.removeProperty("translate");
    graph.mark("target");
  };
  return el("li", { "data-key": `g${group}` }, el("span", {
    class: "chip dataset",
    "data-group": group,
    onpointerdown(event) {
      const chip = event.currentTarget;
      chip.setPointerCapture(event.pointerId);
      Object.assign(chip.dataset, { x: event.clientX, y: event.clientY });
      chip.classList.add("held");
    },
    onpointermove(event) {
      const chip = event.currentTarget;
      if (!held(chip)) return;
      chip.style.setProperty("translate", `${event.clientX - chip.dataset.x}px ${event.clientY - chip.dataset.y}px`);
      graph.mark("target", over(event));
    },
    onpointerup(event) {
      if (!held(event.currentTarget)) return;
      drop(event.currentTarget);
      const agent = over(event);
      if (agent !== null && holders.length) actions.copyEvidence(holders[0], agent);
    },
    onpointercancel: ({ currentTarget: chip }) => drop(chip),
  }, label, el("span", { class: "quiet" }, ` ${plural(holders.length, "agent")}`)));
}
