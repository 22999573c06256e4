// The view Gallery: five stories to read step by step, and the built-in problems to begin from.

import { el, patch } from "./dom.js";
import { button, choice } from "./fields.js";
import { Refusal } from "./source.js";
import { Teller } from "./story.js";
import { plural } from "./words.js";

const kinds = { finite: "hypotheses", changing: "network that changes", faulty: "liars", regression: "regression" };

export function mount(container, app) {
  const view = new GalleryView(container, app);
  app.teller = view.teller;
  return { show: () => view.show() };
}

class GalleryView {
  #app;
  #container;
  #list = null;
  #chosen = new Map(); // variant of each family
  teller;

  constructor(container, app) {
    this.#app = app;
    this.#container = container;
    this.teller = new Teller(app, () => this.#render());
  }

  async show() {
    if (!this.#list) {
      patch(this.#container, el("p", { class: "quiet" }, "One moment …"));
      this.#list = await this.#app.source.gallery();
    }
    this.#render();
  }

  #render() {
    const { problems, stories } = this.#list;
    const read = this.teller.read;
    patch(this.#container,
      el("section", { class: "panel", "data-key": "stories", "aria-label": "Stories" }, el("h2", {}, "Five stories"),
        el("p", { class: "quiet" }, "A few sentences a step, and the network moves along. Nothing has to be known before."),
        el("ul", { class: "cards" }, stories.map(({ name, title, about, steps }) => el("li", { class: "card", "data-key": name },
          el("h3", {}, title), el("p", {}, about),
          el("div", { class: "row" }, button(read.has(name) ? "Read again" : "Begin", () => this.teller.begin(name), { key: `begin-${name}`, kind: "primary", name: `Begin the story ${title}` }),
            el("span", { class: "quiet" }, plural(steps, "step"))))))),
      el("section", { class: "panel", "data-key": "problems", "aria-label": "Built-in problems" }, el("h2", {}, "Built-in problems"),
        el("ul", { class: "cards" }, problems.map((one) => this.#problem(one)))));
  }

  #problem({ name, title, about, kind, variants, default: first, needs_data: data }) {
    const chosen = this.#chosen.get(name) ?? first;
    return el("li", { class: "card", "data-key": name },
      el("h3", {}, name), el("p", {}, title), el("p", { class: "quiet" }, `${kinds[kind] ?? kind}${data ? "; needs the image files" : ""}`),
      variants.length > 1 ? choice(`variant-${name}`, "Variant", variants.map((one) => [one, one]), chosen, { typed: (one) => { this.#chosen.set(name, one); this.#render(); } }) : null,
      el("div", { class: "row" }, button("Open", () => this.#open(chosen), { key: `open-${name}`, name: `Open ${chosen}` }), el("span", { class: "quiet" }, about)));
  }

  async #open(name) {
    const { state, source, graph } = this.#app;
    try {
      const answer = await source.open({ name });
      this.teller.leave();
      state.unpin();
      state.open(answer);
      graph.fit();
      state.openView("numbers");
    } catch (problem) {
      if (!(problem instanceof Refusal)) throw problem;
      state.say(problem.message, "refusal");
    }
  }
}
