// Tells a story: a card over the panels of the graph with the text of a step, back and next.

import { el, patch } from "./dom.js";
import { button } from "./fields.js";
import { Cancelled } from "./source.js";

const delta = 0.01; // the error that the stories' rounds are for

export class Teller {
  #app;
  #ended;
  #card = el("section", { class: "story", hidden: true, "aria-label": "Story" });
  #story = null;
  #at = 0;
  #shown = null; // the step's document, as it is shown
  #turn = 0;
  #delta = null; // the reader's own, given back at the end
  read = new Set(); // stories that were finished

  constructor(app, ended) {
    this.#app = app;
    this.#ended = ended;
    document.getElementById("stage").append(this.#card);
    new ResizeObserver(() => this.#fit()).observe(this.#card);
    this.#card.addEventListener("keydown", (event) => {
      if (event.key === "ArrowRight" && event.altKey) this.go(this.#at + 1);
      if (event.key === "ArrowLeft" && event.altKey) this.go(this.#at - 1);
      if (event.key === "Escape") this.leave();
    });
  }

  async begin(name) {
    this.#story = await this.#app.source.story(name);
    this.#app.state.unpin();
    this.#delta ??= this.#app.state.settings.delta;
    this.#app.state.set({ delta });
    this.#shown = null;
    await this.go(0);
    this.#card.querySelector(".story-text")?.focus();
  }

  leave() {
    if (!this.#story) return;
    this.#story = null;
    this.#app.state.set({ delta: this.#delta });
    this.#delta = null;
    this.#card.hidden = true;
    this.#fit();
    this.#app.state.lookAt([]);
    this.#ended();
  }

  async go(at) {
    if (!this.#story || at < 0) return;
    if (at >= this.#story.steps.length) {
      this.read.add(this.#story.name);
      this.leave();
      this.#app.state.openView("stories");
      return;
    }
    this.#at = at;
    this.#turn += 1;
    const turn = this.#turn;
    const step = this.#story.steps[at];
    this.#render(step);
    try {
      await this.#open(step);
    } catch (problem) {
      if (problem instanceof Cancelled) return; // by the next step, or an edit of the reader's
      throw problem;
    }
    if (turn !== this.#turn) return;
    const { state } = this.#app;
    state.openView(step.do?.view ?? "numbers", without(step.do ?? {}, "view"));
    this.#app.sheet?.set(step.do ? "half" : "low"); // on a narrow screen
    state.lookAt(step.look_at);
    chosen(state, step.look_at);
  }

  /** The step's problem, unless it is shown; the one of the step before is pinned beside it. */
  async #open(step) {
    const { state, source, graph } = this.#app;
    const wanted = JSON.stringify(step.document);
    if (this.#shown?.wanted === wanted && this.#shown.document === state.document) return;
    const turn = this.#turn;
    const answer = await source.edit(step.document, [], { delta });
    if (turn !== this.#turn) return;
    const another = this.#shown === null || state.positions.length !== answer.view.agents.length;
    if (this.#shown && this.#shown.wanted !== wanted && !another && this.#shown.document === state.document) state.pin();
    else if (another) state.unpin();
    state.open(answer, another ? null : state.positions);
    this.#shown = { wanted, document: state.document };
    if (another) { graph.cy.resize(); graph.fit(); }
  }

  #render(step) {
    const { title, steps, proof } = this.#story;
    const at = this.#at;
    const last = at === steps.length - 1;
    this.#card.hidden = false;
    patch(this.#card,
      el("header", {}, el("h2", {}, title), el("span", { class: "quiet" }, `${at + 1} of ${steps.length}`),
        button("×", () => this.leave(), { key: "leave", kind: "icon-only plain", name: "Leave the story" })),
      el("p", { class: "story-text", tabindex: "-1", "aria-live": "polite" }, step.text),
      last ? el("p", { class: "quiet" }, `The proofs are on the documentation's page “${proof}”.`) : null,
      el("div", { class: "row" },
        button("Back", () => this.go(at - 1), { key: "back", why: at === 0 ? "This is the first step." : null }),
        button(last ? "The end" : "Next", () => this.go(at + 1), { key: "next", kind: "primary" }),
        el("ol", { class: "dots", "aria-hidden": "true" }, steps.map((_, i) => el("li", { class: i === at ? "dot here" : i < at ? "dot past" : "dot" })))));
    this.#fit();
  }

  /** The graph keeps clear of the card. */
  #fit() {
    const stage = document.getElementById("stage");
    const height = this.#card.hidden ? 0 : this.#card.offsetHeight + 16;
    if (stage.style.getPropertyValue("--story") === `${height}px`) return;
    stage.style.setProperty("--story", `${height}px`);
    stage.classList.toggle("telling", height > 0);
    const { graph } = this.#app;
    requestAnimationFrame(() => { graph.cy.resize(); graph.fit(); });
  }
}

const without = (table, key) => Object.fromEntries(Object.entries(table).filter(([name]) => name !== key));

/** An agent or a link that a step speaks of is selected, so that the eye finds it. */
function chosen(state, names) {
  const agent = names.map((name) => /^agent:(\d+)$/.exec(name)).find(Boolean);
  const link = names.map((name) => /^link:(\d+)-(\d+)$/.exec(name)).find(Boolean);
  if (agent) state.select({ agent: Number(agent[1]) });
  else if (link) state.select({ link: [Number(link[1]), Number(link[2])] });
  else state.select({});
}
