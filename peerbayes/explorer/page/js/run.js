// The view Run: beliefs of all agents round by round, one run and many, prediction beside
// measurement, the share of wrong runs beside its bound, and truths that nobody has.

import { Asking } from "./asking.js";
import { el, patch } from "./dom.js";
import { button, text } from "./fields.js";
import { Player } from "./player.js";
import { results } from "./results.js";
import { Truth } from "./truth.js";

const first = { rounds: 200, replicates: 300, seed: 1 };

export function mount(container, app) {
  const view = new RunView(container, app);
  return { show: (settings) => view.show(settings), hide: () => view.hide() };
}

class RunView {
  #app;
  #form = el("form", { class: "panel run-form", onsubmit: (event) => { event.preventDefault(); this.start(); } });
  #state = el("div", { class: "run-state", role: "status", "aria-live": "polite" });
  #results = el("div", { class: "run-results" });
  #asked = { ...first };
  #truth;
  #asking;
  #player = null;
  #shown = null; // {document, result}: what the run was of
  #rows = [];

  constructor(container, app) {
    this.#app = app;
    this.#asking = new Asking(this.#state, "Running", "run", () => this.#fields());
    this.#truth = new Truth(app, () => { if (this.#shown) this.start(); });
    container.append(this.#form, this.#truth.element, this.#state, this.#results);
    app.state.on("document", () => this.#changed());
    this.#fields();
  }

  show(settings = {}) {
    const { rounds, replicates, seed, truth } = settings;
    Object.assign(this.#asked, Object.fromEntries(Object.entries({ rounds, replicates, seed }).filter(([, value]) => value !== undefined)));
    if (truth || rounds !== undefined) this.#truth.draw(truth ?? null);
    this.#truth.render();
    this.#fields();
    if (Object.keys(settings).length) this.start();
    else if (this.#player && this.#current()) this.#player.go(this.#rounds.indexOf(this.#player.round));
  }

  hide() {
    this.#player?.pause();
    this.#app.graph.overlay.beliefs(null);
  }

  get #rounds() { return this.#shown.result.rounds; }

  #current() { return this.#shown?.document === this.#app.state.document; }

  #fields() {
    const set = (key) => (typed) => { this.#asked[key] = Math.round(Number(typed)); };
    const field = (key, label, more) => text(`run-${key}`, label, this.#asked[key], { typed: set(key) }, { type: "number", step: 1, min: 1, ...more });
    patch(this.#form,
      el("div", { class: "thirds" },
        field("rounds", "Rounds", { max: 1000000 }), field("replicates", "Runs", { max: 100000 }), field("seed", "Seed", { min: 0 })),
      el("div", { class: "row" },
        this.#asking.running ? button("Cancel", () => this.#asking.stop(), { key: "go" }) : el("button", { type: "submit", class: "button primary", "data-key": "go" }, "Run"),
        button("New seed", () => { this.#asked.seed += 1; this.#fields(); this.start(); }, { key: "seed", name: "Run again with the next seed" })));
  }

  start() {
    for (const input of this.#form.querySelectorAll("input")) this.#asked[input.id.slice(4)] = Math.round(input.valueAsNumber);
    const { state, source } = this.#app;
    const { document } = state;
    const request = { document, ...this.#asked, delta: state.settings.delta, truth: this.#truth.asked };
    return this.#asking.ask((options) => source.run(request, options), (result) => this.#show(document, result));
  }

  #show(document, result) {
    this.#player?.pause();
    this.#shown = { document, result };
    const beliefs = result.beliefs;
    patch(this.#state);
    const charts = results(this.#app, result);
    this.#rows = beliefs?.[0].map((row) => new Float64Array(result.hypotheses.length)) ?? [];
    this.#player = new Player(result.rounds, (index, share) => {
      charts.mark(result.rounds[index]);
      if (beliefs && this.#current() && !this.#hidden) this.#app.graph.overlay.beliefs(this.#between(beliefs, index, share));
    });
    this.#results.replaceChildren(this.#player.element, ...charts.elements);
    this.#player.go(0);
    if (beliefs && this.#current() && !this.#hidden) this.#player.play();
  }

  get #hidden() { return this.#results.closest("section").hidden; }

  /** Beliefs between two recorded rounds, in rows that are used again for every frame. */
  #between(beliefs, index, share) {
    const now = beliefs[index];
    const next = beliefs[Math.min(index + 1, beliefs.length - 1)];
    this.#rows.forEach((row, agent) => {
      for (let k = 0; k < row.length; k += 1) {
        const a = now[agent]?.[k] ?? 0;
        row[k] = a + share * ((next[agent]?.[k] ?? a) - a);
      }
    });
    return this.#rows;
  }

  #changed() {
    this.#truth.render();
    if (!this.#shown || this.#current()) return;
    this.#player?.pause();
    this.#app.graph.overlay.beliefs(null);
    if (!this.#asking.running) patch(this.#state, el("p", { class: "notice" }, "The network has changed since this run. ", button("Run again", () => this.start(), { key: "again", kind: "small" })));
  }
}
