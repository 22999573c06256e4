// The editing view: fields of what is selected, then the network, the model and the rest.

import { el, patch, together } from "../dom.js";
import * as agent from "./agent.js";
import * as agents from "./agents.js";
import * as faults from "./faults.js";
import * as link from "./link.js";
import * as messages from "./messages.js";
import * as model from "./model.js";
import * as network from "./network.js";

export function mount(container, app) {
  const { state } = app;
  let visible = false;
  const show = () => {
    if (!visible || !state.view) return;
    const { selection } = state;
    patch(
      container,
      selection.agent !== undefined
        ? agent.render(app)
        : selection.link
          ? link.render(app)
          : el("p", { class: "quiet panel", "data-key": "none" }, "Tap an agent or a link to change it."),
      network.render(app),
      model.render(app),
      faults.render(app),
      messages.render(app),
      agents.render(app),
    );
  };
  const soon = together(show);
  for (const topic of ["document", "selection", "fold"]) state.on(topic, soon);
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
