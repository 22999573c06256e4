// The views beside the graph: numbers, editing, run, design, gallery. One is shown at a time.

import { el, patch, refill } from "./dom.js";
import * as edit from "./panels/edit.js";
import * as numbers from "./panels/numbers.js";

const lazily = (path) => ({ mount: null, path });
const views = [
  ["numbers", "Numbers", numbers],
  ["edit", "Edit", edit],
  ["run", "Run", lazily("./run.js")],
  ["design", "Design", lazily("./design.js")],
  ["stories", "Gallery", lazily("./gallery.js")],
];

export class Views {
  #app;
  #tabs;
  #sections;
  #mounted = new Map();
  #shown = null;

  constructor(tabs, container, app) {
    this.#app = app;
    this.#tabs = tabs;
    const section = (name, label) => el("section", {
      id: `view-${name}`, class: "view", role: "tabpanel", "aria-labelledby": `tab-${name}`, tabindex: "-1", hidden: true, "data-view": label,
    });
    this.#sections = new Map(views.map(([name, label]) => [name, section(name, label)]));
    container.append(...this.#sections.values());
    app.state.on("view", ({ name, settings }) => this.show(name, settings));
    app.state.on("look", lookAt);
  }

  get shown() {
    return this.#shown;
  }

  showAt(index) {
    this.show(views[index][0], {}, true);
  }

  async show(name, settings = {}, focus = false) {
    if (!this.#sections.has(name)) return;
    const before = this.#shown;
    this.#shown = name;
    if (before !== name) this.#sections.get(name).parentElement.scrollTop = 0;
    for (const [other, section] of this.#sections) section.hidden = other !== name;
    this.#bar();
    this.#app.sheet?.rise();
    if (before && before !== name) this.#mounted.get(before)?.hide?.();
    if (focus) document.getElementById(`tab-${name}`).focus();
    if (!this.#mounted.get(name)) this.#mounted.set(name, await this.#mount(name));
    if (this.#shown === name) this.#mounted.get(name)?.show?.(settings);
  }

  async #mount(name) {
    const [, , module] = views.find(([one]) => one === name);
    const section = this.#sections.get(name);
    try {
      const { mount } = module.path ? await import(module.path) : module;
      section.replaceChildren();
      return mount(section, this.#app) ?? {};
    } catch (problem) {
      if (!(problem instanceof TypeError && module.path)) throw problem;
      // A module that is not there yet: the server is gone. The next visit tries again.
      const why = "This view could not be loaded: the server does not answer. Choose it again later.";
      refill(section, el("p", { class: "quiet" }, why));
      return null;
    }
  }

  #bar() {
    const step = (event, by) => {
      event.preventDefault();
      const at = views.findIndex(([name]) => name === this.#shown);
      this.showAt((at + by + views.length) % views.length);
    };
    const onkeydown = (event) => {
      if (event.key === "ArrowRight") step(event, 1);
      else if (event.key === "ArrowLeft") step(event, -1);
    };
    patch(this.#tabs, views.map(([name, label]) => el("button", {
      type: "button", role: "tab", id: `tab-${name}`, class: "tab", "data-key": name,
      "aria-selected": String(name === this.#shown), "aria-controls": `view-${name}`,
      tabindex: name === this.#shown ? "0" : "-1", onclick: () => this.show(name), onkeydown,
    }, label)));
  }
}

// A rule, not a class on what is there now: parts are drawn anew, and some are not there yet.
const standsOut = new CSSStyleSheet();
document.adoptedStyleSheets.push(standsOut);

/** Lets what a story speaks of stand out, until it speaks of something else. */
function lookAt(names) {
  const parts = names.map((name) => `[data-look="${CSS.escape(name)}"]`);
  const look = "outline: 2px solid var(--accent); outline-offset: 3px; border-radius: 4px; background: var(--accent-faint);";
  standsOut.replaceSync(parts.length ? `${parts.join(", ")} { ${look} }` : "");
}
