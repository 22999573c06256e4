// Everything by keyboard. On the graph, arrows walk from agent to agent; letters act.

import { tools } from "./edit.js";

export const keys = [
  ["Anywhere", [
    ["?", "this list"],
    ["Ctrl Z", "undo"],
    ["Ctrl Shift Z, Ctrl Y", "redo"],
    ["Ctrl S", "save"],
    ["Ctrl O", "open"],
    ["p", "pin the numbers of now, or let them go"],
    ["g", "to the graph"],
    ["1 – 5", "numbers, edit, run, design, gallery"],
    ["Esc", "close, stop, select nothing"],
  ]],
  ["On the graph", [
    ["arrows", "the next agent that way"],
    ["Shift and arrows", "move the agent"],
    ["Tab in the panel", "its fields"],
    ["n", "a new agent beside this one"],
    ["l, arrows, Enter", "link this agent with another"],
    ["e, arrows, Enter", "give this agent's evidence to another"],
    ["[ and ]", "weight on itself, or of the link, down and up"],
    [", and .", "the next link of this agent, before and after"],
    ["Delete", "remove the agent or the link"],
    ["Enter", "to its fields"],
    ["b", "links both ways, or one way"],
    ["+ − 0", "zoom in, out, all"],
  ]],
  ["Tools of the mouse", tools.map(([, label, key]) => [`t, ${key}`, label])],
];

const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export class Keyboard {
  #app;
  #joining = null; // {what: "link" | "data", from, to}
  #tool = false;

  constructor(app) {
    this.#app = app;
    document.addEventListener("keydown", (event) => this.#anywhere(event));
    app.graph.container.addEventListener("keydown", (event) => this.#onGraph(event));
  }

  #anywhere(event) {
    const { state, commands } = this.#app;
    const typing = event.target.matches?.("input:not([type=range]):not([type=checkbox]), textarea, select");
    if (document.querySelector("dialog[open]")) return;
    const back = () => {
      this.#stop();
      state.say(null);
    };
    if (event.ctrlKey || event.metaKey) {
      const key = event.key.toLowerCase();
      const redo = () => state.redo();
      const undo = () => state.undo();
      if (!typing || !["z", "y"].includes(key))
        act(event, { z: event.shiftKey ? redo : undo, y: redo, s: commands.save, o: commands.open }[key]);
      return;
    }
    if (typing && event.key === "Escape") event.target.blur();
    if (typing || event.altKey || event.defaultPrevented) return;
    const graph = () => this.#app.graph.container.focus();
    const view = /^[1-5]$/.test(event.key) ? () => commands.view(Number(event.key) - 1) : undefined;
    act(event, { "?": commands.keys, p: commands.pin, g: graph, Escape: back }[event.key] ?? view);
  }

  #onGraph(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { state, graph, actions, tools: held, commands } = this.#app;
    const { agent, link } = state.selection;
    const one = agent ?? link?.[0];
    if (this.#tool) {
      this.#tool = false;
      const found = tools.find(([, , key]) => key === event.key);
      act(event, found && (() => held.choose(found[0])));
      return;
    }
    const both = () => {
      held.setBoth(!held.both);
      state.say(held.both ? "Links go both ways." : "Links go one way.");
    };
    const nearer = () => graph.zoom(1.25);
    const remove = () => actions.removeSelected();
    const does = {
      Enter: () => (this.#joining ? this.#join() : commands.fields()),
      Escape: () => (this.#joining ? this.#stop() : state.select({})),
      n: () => actions.addAgent(),
      l: () => this.#begin("link", one),
      e: () => this.#begin("data", one),
      "[": () => actions.nudge(-0.05),
      "]": () => actions.nudge(0.05),
      ",": () => this.#nextLink(one, -1),
      ".": () => this.#nextLink(one, 1),
      Delete: remove,
      Backspace: remove,
      b: both,
      "+": nearer,
      "=": nearer,
      "-": () => graph.zoom(0.8),
      0: () => graph.fit(),
      t: () => { this.#tool = true; },
    };
    act(event, ways[event.key] ? () => this.#arrow(event, one) : does[event.key]);
  }

  #arrow(event, one) {
    const { state, graph } = this.#app;
    if (this.#joining) {
      this.#joining.to = this.#next(this.#joining.to, ways[event.key]);
      graph.mark("target", this.#joining.to);
      graph.reveal(this.#joining.to);
      state.say(
        `${this.#joining.what === "link" ? "Link" : "Evidence"} of ${state.view.agents[this.#joining.from]} to ${state.view.agents[this.#joining.to]}: Enter, or Esc.`,
      );
      return;
    }
    if (event.shiftKey && state.selection.agent !== undefined) {
      const [x, y] = state.positions[one];
      const step = 0.2;
      state.move(one, [x + step * ways[event.key][0], y + step * ways[event.key][1]]);
      return;
    }
    const to = one === undefined ? 0 : this.#next(one, ways[event.key]);
    state.select({ agent: to });
    graph.reveal(to);
  }

  /** The nearest agent that way, sideways distance counting double. */
  #next(from, [dx, dy]) {
    const places = this.#app.graph.places;
    const [, x, y] = places.find(([agent]) => agent === from) ?? places[0];
    let best = from;
    let least = Infinity;
    for (const [agent, a, b] of places) {
      const along = (a - x) * dx + (b - y) * dy;
      const aside = Math.abs((a - x) * dy) + Math.abs((b - y) * dx);
      if (agent === from || along <= 1 || aside > 3 * along) continue;
      const far = along + 2 * aside;
      if (far < least) [best, least] = [agent, far];
    }
    return best;
  }

  #begin(what, from) {
    const { state, graph } = this.#app;
    if (from === undefined) {
      state.say("Choose an agent first, with the arrows.");
      return;
    }
    this.#joining = { what, from, to: from };
    graph.mark("from", from);
    state.say(
      `${what === "link" ? "Link" : "Evidence"} of ${state.view.agents[from]} to whom? Arrows, then Enter.`,
    );
  }

  #join() {
    const { what, from, to } = this.#joining;
    const { actions, tools: held } = this.#app;
    this.#stop();
    if (to === from) return;
    if (what === "link") actions.link(to, from, held.both);
    else actions.copyEvidence(from, to);
  }

  #stop() {
    const { graph, state } = this.#app;
    if (this.#joining) state.say(null);
    this.#joining = null;
    graph.mark("from");
    graph.mark("target");
  }

  #nextLink(one, step) {
    const { state } = this.#app;
    if (one === undefined) return;
    const heard = state.view.weights.filter(([i, j]) => i === one && i !== j).map(([, j]) => j);
    if (!heard.length) return;
    const at = heard.indexOf(state.selection.link?.[1]);
    const next = at < 0 ? (step > 0 ? 0 : heard.length - 1) : (at + step + heard.length) % heard.length;
    state.select({ link: [one, heard[next]] });
  }
}

/** Does what a key is for, if it is for anything. */
function act(event, what) {
  if (!what) return;
  event.preventDefault();
  event.stopPropagation();
  what();
}
