// The view Design: ask for weights, an edge or places for data; see what comes, with its proof, and
// keep it or go back.

import { Asking } from "./asking.js";
import { designed } from "./designed.js";
import { el, patch } from "./dom.js";
import { button, choice, text } from "./fields.js";
import { Limits } from "./limits.js";

const objectives = [
  ["rate", "Rate: the largest K", "Weights with which the typical run learns fastest."],
  ["exponent", "Exponent: the largest E", "Weights with which bad runs become rare fastest."],
  ["samples", "Samples: fewest rounds", "Weights with which an error is as rare as asked for after the fewest rounds."],
  ["mixing", "Mixing: the smallest modulus", "Weights with the same influence that forget soonest who said what."],
  ["next-edge", "Next edge", "Adds every edge by itself, computes everything afresh, and ranks them."],
  ["placement", "Placement", "Who should hold which data: the weights stay, the evidence moves."],
];

export function mount(container, app) {
  const view = new DesignView(container, app);
  return { show: (settings) => view.show(settings), hide: () => view.hide() };
}

class DesignView {
  #app;
  #form = el("form", { class: "panel", onsubmit: (event) => { event.preventDefault(); this.start(); } });
  #state = el("div", { role: "status", "aria-live": "polite" });
  #result = el("div", { class: "design-result" });
  #limits;
  #objective = "rate";
  #seconds = 20;
  #asking;
  #visible = false;
  #before = null; // the names and document that the design was asked for
  #after = null; // its document as it is shown
  #answer = null;

  constructor(container, app) {
    this.#app = app;
    this.#limits = new Limits(app);
    this.#asking = new Asking(this.#state, "Designing", "design", () => this.#fields());
    container.append(this.#form, this.#limits.element, this.#state, this.#result);
    app.state.on("document", () => this.#changed());
    this.#fields();
  }

  show(settings = {}) {
    this.#visible = true;
    if (settings.objective) this.#objective = settings.objective;
    this.#fields();
    this.#limits.render();
    this.#mark();
    if (settings.objective) this.start();
  }

  hide() {
    this.#visible = false;
    this.#limits.rest();
    this.#app.graph.overlay.marks(null);
  }

  #why(objective) {
    const why = this.#app.state.view?.objectives?.[objective];
    return why === undefined || why === true ? null : String(why);
  }

  #fields() {
    const why = this.#why(this.#objective);
    const { state } = this.#app;
    const regression = this.#objective === "rate" && state.view?.kind === "regression";
    const name = ([key, label]) => [key, key === "rate" && state.view?.kind === "regression" ? "Error: the smallest n × error" : label];
    const about = regression ? "Weights with the smallest excess error in the long run." : objectives.find(([key]) => key === this.#objective)[2];
    const rare = (typed) => { if (Number(typed) > 0 && Number(typed) < 1) state.set({ delta: Number(typed) }); };
    const seconds = (typed) => { this.#seconds = Math.max(1, Number(typed) || 20); };
    patch(this.#form,
      choice("objective", "Ask for", objectives.map(name), this.#objective, { typed: (key) => { this.#objective = key; this.#fields(); }, why }),
      el("p", { class: "quiet" }, about),
      this.#objective === "samples" || this.#objective === "next-edge"
        ? text("design-delta", "An error as rare as", state.settings.delta, { typed: rare }, { type: "number", min: 0.000001, max: 0.5, step: "any" }) : null,
      text("design-seconds", "Search for at most, seconds", this.#seconds, { typed: seconds }, { type: "number", min: 1, max: 240, step: 1 }),
      el("div", { class: "row" }, this.#asking.running ? button("Cancel", () => this.#asking.stop(), { key: "go" })
        : el("button", { type: "submit", class: "button primary", "data-key": "go", "aria-disabled": why ? "true" : null, title: why }, "Design")));
  }

  start() {
    if (this.#why(this.#objective)) return;
    const { state, source } = this.#app;
    const before = state.snapshot;
    const request = { document: before.document, objective: this.#objective, constraints: {}, delta: state.settings.delta, seconds: this.#seconds };
    this.#asking.ask((options) => source.design(request, options), async (answer) => {
      if (state.document === before.document) await this.#take(before, answer);
      else patch(this.#state, el("p", { class: "quiet" }, "The network has changed meanwhile; design again."));
    });
  }

  /** The graph becomes the design's; the network of before is pinned, so that numbers show both. */
  async #take(before, answer) {
    const { state, source } = this.#app;
    patch(this.#state);
    this.#answer = answer;
    this.#before = before;
    this.#after = before.document;
    if (JSON.stringify(answer.document) !== JSON.stringify(before.document)) {
      const shown = await source.edit(answer.document, [], { delta: state.settings.delta });
      state.pin();
      this.#after = shown.document;
      state.open(shown, before.positions.length === shown.view.agents.length ? before.positions : null);
    }
    this.#changed();
  }

  #changed() {
    if (!this.#app.state.view) return;
    this.#fields();
    this.#limits.render();
    this.#mark();
    if (!this.#answer) return;
    const { state } = this.#app;
    const now = state.document === this.#after ? "design" : state.document === this.#before.document ? "before" : "other";
    const same = this.#after === this.#before.document;
    this.#result.replaceChildren(
      same ? el("p", { class: "notice" }, "Nothing changes: the network is as good as the best that was found.") : this.#choice(now),
      ...designed(this.#app, this.#answer, this.#before, (edits) => this.#try(edits)));
  }

  #choice(now) {
    if (now === "other") return el("p", { class: "notice" }, "The network has been changed since this design.");
    if (now === "before") return el("div", { class: "notice row" }, "You went back to the network of before.", button("Show the design again", () => this.#app.state.redo(), { key: "again", kind: "small" }));
    return el("div", { class: "notice row" }, "The graph shows the design; the network of before is pinned.",
      button("Keep it", () => { this.#answer = null; this.#result.replaceChildren(); this.#app.state.unpin(); this.#app.state.say("Kept. Undo still goes back.", "done"); }, { key: "keep", kind: "primary" }),
      button("Go back", () => this.#app.state.undo(), { key: "back" }));
  }

  async #try(edits) {
    const { state } = this.#app;
    if (state.document === this.#after && this.#after !== this.#before.document) await state.undo();
    if (await state.edit(edits)) state.say("Tried. Undo goes back.", "done");
  }

  #mark() {
    if (!this.#visible) return;
    const marks = this.#limits.marks;
    const shown = this.#answer && this.#app.state.document === this.#after && this.#after !== this.#before?.document;
    const links = shown ? newLinks(this.#answer.changes) : [];
    const agents = shown ? movedAgents(this.#answer) : [];
    this.#app.graph.overlay.marks({ links: [...marks.links, ...links], agents: [...marks.agents, ...agents] });
  }
}

/** Links that came or went; one mark for both directions. */
function newLinks(changes) {
  const found = new Map();
  for (const [i, j, was, is] of changes) {
    if (i !== j && (was === 0 || is === 0) && !found.has(`${j} ${i}`)) found.set(`${i} ${j}`, [i, j, was === 0 ? "gained" : "lost"]);
  }
  return [...found.values()].slice(0, 60);
}

const movedAgents = ({ moved }) => (moved ?? []).map((one) => [typeof one === "number" ? one : one.agent ?? one[0], "new data"]).filter(([i]) => Number.isInteger(i));
