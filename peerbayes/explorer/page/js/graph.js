// The graph: cytoscape draws nodes and arrows and says what is touched; the overlay draws the rest.

import cytoscape from "../vendor/cytoscape.esm.min.mjs";
import { forgetColours } from "./colours.js";
import { calm } from "./dom.js";
import { elements, manyAgents, manyLinks, style, unit } from "./looks.js";
import { Overlay } from "./overlay.js";

const fewElements = 700;

export class Graph {
  #state;
  #cy;
  #above;
  #picks = [];
  #styled = "";
  #whole = false;

  /** above() says how many pixels of the container's top are covered by tools. */
  constructor(container, state, above) {
    this.#state = state;
    this.#above = above;
    this.container = container;
    this.#cy = cytoscape({
      container,
      elements: [],
      style: style(0, 0),
      layout: { name: "preset" },
      minZoom: 0.08,
      maxZoom: 4,
      boxSelectionEnabled: false,
      autounselectify: true,
    });
    this.overlay = new Overlay(this.#cy, container);
    state.on("document", (how) => this.#shown(how));
    state.on("selection", () => this.#selected());
    state.on("positions", (agent) => {
      if (agent === null) this.#settle(!calm(), "open");
      else this.#node(agent).position(this.#at(state.positions[agent]));
    });
    this.#listen();
    new ResizeObserver(() => this.#resized()).observe(container);
  }

  get cy() {
    return this.#cy;
  }

  /** Draws faintly who is not there, by number, and links that are dead, as [hearer, heard]. */
  absent(agents, links) {
    const ids = new Set([...agents.map((i) => `n${i}`), ...links.map(([i, j]) => `e${i}-${j}`)]);
    this.#cy.batch(() => this.#cy.elements().forEach((one) => void one.toggleClass("absent", ids.has(one.id()))));
  }

  /** Takes what is touched away from selection until the returned function is called. */
  pick(handlers) {
    this.#picks.push(handlers);
    return () => {
      this.#picks = this.#picks.filter((other) => other !== handlers);
    };
  }

  /** Shows all agents. They stay in sight when the window changes, until the reader pans or zooms. */
  fit() {
    const cy = this.#cy;
    const margin = Math.min(24, cy.width() / 30);
    if (!this.#state.view || !cy.width() || !cy.height()) return;
    const { x1, y1, w, h } = this.#box();
    const above = Math.min(this.#above(), cy.height() / 2);
    const zoom = Math.min((cy.width() - 2 * margin) / w, (cy.height() - above - margin) / h, 1.6);
    const x = cy.width() / 2 - (x1 + w / 2) * zoom;
    const y = (above + cy.height() - margin) / 2 - (y1 + h / 2) * zoom;
    cy.viewport({ zoom, pan: { x, y } });
    this.#whole = true;
  }

  /** The box around all agents where they are going to stand, with their names. */
  #box() {
    const places = this.#state.positions.map((place) => this.#at(place));
    const around = 30 + Math.max(...this.#cy.nodes().map((node) => node.data("size") / 2));
    const [xs, ys] = [places.map(({ x }) => x), places.map(({ y }) => y)];
    const [x1, y1] = [Math.min(...xs) - around, Math.min(...ys) - around];
    return { x1, y1, w: Math.max(...xs) + around - x1, h: Math.max(...ys) + around - y1 };
  }

  /** Keeps the middle in the middle, or all in sight if all was. */
  #resized() {
    const whole = this.#whole;
    this.#cy.resize();
    if (whole && this.#state.view) this.fit();
    this.overlay.ask();
  }

  zoom(factor) {
    this.#cy.zoom({
      level: this.#cy.zoom() * factor,
      renderedPosition: { x: this.#cy.width() / 2, y: this.#cy.height() / 2 },
    });
  }

  /** New colours after a change of theme. */
  restyle() {
    forgetColours();
    this.#styled = "";
    if (this.#state.view) this.#shown("restyle");
  }

  /** The place, as in state.positions, of a point of the graph. */
  place({ x, y }) {
    return [x / unit, y / unit];
  }

  /** Agents as [i, x, y] on the screen, for the keyboard. */
  get places() {
    return this.#cy.nodes().map((node) => [node.data("agent"), node.renderedPosition("x"), node.renderedPosition("y")]);
  }

  reveal(agent) {
    const node = this.#node(agent);
    if (!node.length) return;
    const { x, y } = node.renderedPosition();
    if (x < 0 || y < 0 || x > this.#cy.width() || y > this.#cy.height()) this.#cy.center(node);
  }

  /** Gives one agent (or none) a class of the style: "from" or "target". */
  mark(name, agent = null) {
    this.#cy.nodes(`.${name}`).removeClass(name);
    if (agent !== null) this.#node(agent).addClass(name);
  }

  /** The agent at a point of the graph, or null. */
  agentAt({ x, y }, slack = 8 / this.#cy.zoom()) {
    let best = null;
    let least = Infinity;
    this.#cy.nodes().forEach((node) => {
      const far = Math.hypot(node.position("x") - x, node.position("y") - y) - node.data("size") / 2;
      if (far < slack && far < least) [best, least] = [node.data("agent"), far];
    });
    return best;
  }

  /** A point of the graph under a point of the window. */
  point(clientX, clientY) {
    const box = this.container.getBoundingClientRect();
    const { x, y } = this.#cy.pan();
    return { x: (clientX - box.left - x) / this.#cy.zoom(), y: (clientY - box.top - y) / this.#cy.zoom() };
  }

  #node(agent) {
    return this.#cy.getElementById(`n${agent}`);
  }

  #at([x, y]) {
    return { x: x * unit, y: y * unit };
  }

  #shown(how) {
    const { view, numbers } = this.#state;
    const wanted = elements(view, numbers);
    const animate = (how === "open" || how === "undo") && !calm() && view.agents.length <= manyAgents;
    this.#cy.batch(() => {
      const gone = (one) => !wanted.nodes.has(one.id()) && !wanted.edges.has(one.id());
      this.#cy.elements().filter(gone).remove();
      const fresh = [];
      for (const [id, data] of [...wanted.nodes, ...wanted.edges]) {
        const old = this.#cy.getElementById(id);
        const position = wanted.nodes.has(id) ? this.#at(this.#state.positions[data.agent]) : undefined;
        if (!old.length) fresh.push({ group: position ? "nodes" : "edges", data, position });
        else for (const [key, value] of Object.entries(data)) if (old.data(key) !== value) old.data(key, value);
      }
      if (fresh.length) this.#cy.add(fresh);
      const signature = `${view.agents.length > manyAgents} ${wanted.edges.size > manyLinks}`;
      if (signature !== this.#styled) {
        this.#styled = signature;
        this.#cy.style(style(view.agents.length, wanted.edges.size));
      }
    });
    this.#plain(this.#cy.elements().length <= fewElements);
    this.#settle(animate, how);
    this.#selected();
    if (how === "open") this.fit();
    this.overlay.ask();
  }

  /**
   * Draws a small graph straight away instead of from textures, which cost more than they save where
   * every size changes in every step of a drag. The renderer's own methods, of the version vendored here.
   */
  #plain(yes) {
    const renderer = this.#cy.renderer();
    for (const name of ["drawLayeredElements", "drawCachedElements"]) {
      if (yes) renderer[name] = (context, elements) => renderer.drawElements(context, elements);
      else delete renderer[name];
    }
  }

  #settle(animate, how) {
    if (how === "restyle") return;
    this.#cy.nodes().forEach((node) => {
      const to = this.#at(this.#state.positions[node.data("agent")]);
      const at = node.position();
      if (node.grabbed() || (Math.abs(at.x - to.x) < 0.01 && Math.abs(at.y - to.y) < 0.01)) return;
      node.stop();
      if (animate) node.animate({ position: to }, { duration: 350, easing: "ease-in-out" });
      else node.position(to);
    });
  }

  #selected() {
    const { agent, link } = this.#state.selection;
    const id = agent !== undefined ? `n${agent}` : link ? `e${link[0]}-${link[1]}` : "";
    this.#cy.elements(".chosen").filter((one) => one.id() !== id).removeClass("chosen");
    if (id) this.#cy.getElementById(id).addClass("chosen");
  }

  #listen() {
    const cy = this.#cy;
    cy.on("scrollzoom pinchzoom dragpan", () => {
      this.#whole = false;
    });
    const touched = (event) => {
      const { agent, hears, speaks } = event.target.data();
      const pick = this.#picks.at(-1) ?? {};
      const { agent: chosen = (i) => this.#state.select({ agent: i }), link = (i, j) => this.#state.select({ link: [i, j] }) } = pick;
      if (agent !== undefined) chosen(agent);
      else link(hears, speaks);
    };
    cy.on("tap", "node, edge", touched);
    cy.on("tap", (event) => {
      if (event.target === cy) (this.#picks.at(-1)?.empty ?? (() => this.#state.select({})))(event.position);
    });
    cy.on("dragfree", "node", (event) =>
      this.#state.move(event.target.data("agent"), this.place(event.target.position())),
    );
  }
}
