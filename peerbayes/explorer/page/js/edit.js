// Drawing on the graph by mouse, pen and touch: one tool is held at a time.

import { el, patch } from "./dom.js";
import { icon } from "./icons.js";

export const tools = [
  ["move", "Move", "v", "Drag agents; tap to select; tap twice on nothing to add an agent"],
  ["agent", "Agent", "a", "Tap where a new agent is to stand"],
  ["link", "Link", "l", "Drag from the one who speaks to the one who listens"],
  ["data", "Evidence", "e", "Drag from an agent to another: the other gets its evidence"],
  ["cut", "Cut", "x", "Tap a link or an agent to remove it"],
];

export class Tools {
  #app;
  #bar;
  #start = null;
  #moved = null;

  constructor(bar, app) {
    this.#app = app;
    this.#bar = bar;
    this.tool = "move";
    this.both = true;
    this.#listen();
    this.#show();
  }

  choose(tool) {
    this.tool = tool;
    const { cy } = this.#app.graph;
    cy.autoungrabify(tool !== "move");
    this.#app.graph.container.dataset.tool = tool;
    this.#abandon();
    this.#show();
  }

  setBoth(both) {
    this.both = both;
    this.#show();
  }

  #show() {
    const chosen = tools.find(([name]) => name === this.tool);
    const tool = (name, pressed, title, sign, label, onclick) =>
      el("button", { type: "button", class: "tool", "aria-pressed": String(pressed), title, "data-key": name, onclick },
        icon(sign), el("span", {}, label));
    const links = this.tool === "link" || this.tool === "cut";
    patch(this.#bar,
      el("div", { class: "tools", role: "toolbar", "aria-label": "Tools for the graph", "data-key": "tools" },
        tools.map(([name, label, key, about]) =>
          tool(name, name === this.tool, `${label} (${key}): ${about}`, name, label, () => this.choose(name)))),
      links ? tool("both", this.both, "Both directions at once (b)", "bothways", "Both ways", () => this.setBoth(!this.both)) : null,
      el("p", { class: "hint", "data-key": "hint" }, chosen[3]));
  }

  #listen() {
    const { cy } = this.#app.graph;
    const { actions } = this.#app;
    cy.on("tap", (event) => {
      if (event.target !== cy) return;
      if (this.tool === "agent") actions.addAgent({ place: this.#app.graph.place(event.position) });
    });
    cy.on("dbltap", (event) => {
      if (event.target === cy && this.tool === "move")
        actions.addAgent({ place: this.#app.graph.place(event.position) });
    });
    this.#app.graph.pick({
      agent: (agent) => (this.tool === "cut" ? actions.removeAgent(agent) : this.#select({ agent })),
      link: (i, j) => (this.tool === "cut" ? actions.cut(i, j, this.both) : this.#select({ link: [i, j] })),
      empty: () => {
        if (this.tool !== "agent") this.#app.state.select({});
      },
    });
    cy.on("tapstart", "node", (event) => {
      if (this.tool !== "link" && this.tool !== "data") return;
      this.#start = event.target.data("agent");
      cy.userPanningEnabled(false);
      this.#app.graph.mark("from", this.#start);
    });
    cy.on("tapdrag", (event) => {
      if (this.#start === null) return;
      const { graph } = this.#app;
      const to = graph.agentAt(event.position);
      graph.mark("target", to !== this.#start ? to : null);
      graph.overlay.rubber([cy.getElementById(`n${this.#start}`).position(), event.position]);
      this.#moved = event.position;
    });
    cy.on("tapend", (event) => {
      if (this.#start === null) return;
      const from = this.#start;
      const to = this.#app.graph.agentAt(event.position ?? this.#moved ?? { x: NaN, y: NaN });
      this.#abandon();
      if (to === null || to === from) return;
      if (this.tool === "link") actions.link(to, from, this.both);
      else actions.copyEvidence(from, to);
    });
  }

  /** Selects what was touched, and shows its fields where only numbers are shown. */
  #select(what) {
    const { state, views } = this.#app;
    state.select(what);
    if (views.shown === "numbers") views.show("edit");
  }

  #abandon() {
    const { graph } = this.#app;
    this.#start = null;
    this.#moved = null;
    graph.cy.userPanningEnabled(true);
    graph.overlay.rubber(null);
    graph.mark("from");
    graph.mark("target");
  }
}
