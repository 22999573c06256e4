// A truth that nobody has: a mixture of the hypotheses, drawn with one slider each.

import { el, patch } from "./dom.js";
import { button, choice, reason, whyNot } from "./fields.js";
import { hue, number } from "./words.js";

const most = 12; // sliders

export class Truth {
  #app;
  #changed;
  #agent = ""; // "": everybody
  #shares = null; // null: as the problem says
  #element = el("details", { class: "truth" });

  constructor(app, changed) {
    this.#app = app;
    this.#changed = changed;
  }

  get element() { return this.#element; }

  /** What a run is asked with; null: the problem's own truth. */
  get asked() {
    const names = this.#names;
    if (!this.#shares || this.#shares.length !== names.length || this.#why) return null;
    const whole = this.#shares.reduce((sum, share) => sum + share, 0);
    if (!(whole > 0)) return null;
    const mixture = Object.fromEntries(names.map((name, k) => [name, this.#shares[k] / whole]));
    return { agent: this.#agent === "" ? null : Number(this.#agent), mixture };
  }

  /** Sets the sliders to a truth {agent, mixture}; null: the problem's own. */
  draw(truth) {
    if (!truth) { this.#shares = null; return; }
    const { agent = null, mixture } = truth;
    this.#agent = agent === null ? "" : String(agent);
    this.#shares = this.#names.map((name) => mixture[name] ?? 0);
    this.#element.open = true;
  }

  get #names() { return this.#app.state.view?.hypotheses ?? []; }

  get #why() {
    const { view } = this.#app.state;
    if (!view || view.kind === "regression") return "A regression has coefficients in place of hypotheses.";
    return whyNot(view, "set-truth");
  }

  render() {
    const names = this.#names;
    if (this.#shares && this.#shares.length !== names.length) this.#shares = null;
    if (this.#agent !== "" && Number(this.#agent) >= (this.#app.state.view?.agents.length ?? 0)) this.#agent = "";
    patch(this.#element, el("summary", {}, "A truth that nobody has"), this.#why ? reason("truth-why", this.#why) : this.#fields(names));
  }

  #fields(names) {
    const whole = this.#shares?.reduce((sum, share) => sum + share, 0) || 1;
    const who = [["", "everybody"], ...this.#app.state.view.agents.map((name, i) => [String(i), name])];
    return [
      el("p", { class: "quiet" }, "Draw the data from a mixture of the hypotheses instead. The file stays as it is; the run shows what the network settles on."),
      choice("truth-agent", "For", who.slice(0, 400), this.#agent, { typed: (agent) => { this.#agent = agent; if (this.#shares) this.#changed(); } }),
      names.slice(0, most).map((name, k) => el("div", { class: "field slider", "data-key": `truth-${k}` },
        el("label", { for: `truth-${k}` }, el("span", { class: "swatch inline", style: { background: hue(k) }, "aria-hidden": "true" }), name),
        el("input", {
          type: "range", id: `truth-${k}`, min: 0, max: 1, step: 0.01, value: this.#shares?.[k] ?? 0,
          oninput: (event) => { this.#shares ??= names.map(() => 0); this.#shares[k] = Number(event.target.value); this.render(); },
          onchange: () => this.#changed(),
        }),
        el("span", { class: "number" }, this.#shares ? number(this.#shares[k] / whole, 2) : "–"))),
      names.length > most ? el("p", { class: "quiet" }, `Sliders for the first ${most} hypotheses.`) : null,
      button("The problem's own truth", () => { this.#shares = null; this.render(); this.#changed(); }, { key: "truth-own", why: this.#shares ? null : "It is the problem's own now." }),
    ];
  }
}
