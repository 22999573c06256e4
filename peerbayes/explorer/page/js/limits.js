// What a design has to respect: the table [design] of the problem, set by fields or by clicking on
// links and agents in the graph. It lives in the document, so that undo, save and share know it.

import { el, patch } from "./dom.js";
import { button, choice, text, tick, whyNot } from "./fields.js";
import { number } from "./words.js";

const modes = [
  ["dear", "Dear links", "Click a link that is dear. Again: it costs 1, as the others."],
  ["failing", "Failing links", "Click a link that often fails. Again: it is always up."],
  ["not ours", "Agents that are not ours", "Click an agent whose weights are not ours to change."],
];
const share = { min: 0, max: 1, step: "any" };
const numbersOf = [
  ["minimum_influence", "Least influence", share],
  ["minimum_self_weight", "Least trust in oneself", share],
  ["edge_budget", "Most edges", { min: 1, step: 1 }],
  ["degree_budget", "Most neighbours", { min: 1, step: 1 }],
  ["cost_budget", "Most cost", { min: 0, step: "any" }],
  ["availability", "Links are up, share of rounds", { ...share, placeholder: "always" }],
];
const ticks = [
  ["symmetric", "limit-symmetric", "Weights are to be symmetric"],
  ["doubly_stochastic", "limit-doubly", "Columns are to sum to one, too"],
];

export class Limits {
  #app;
  #element = el("details", { class: "limits" });
  #mode = null;
  #stop = null;
  #cost = 5;
  #up = 0.5;

  constructor(app) {
    this.#app = app;
  }

  get element() { return this.#element; }

  /** Which marks the graph shows while limits are looked at. */
  get marks() {
    const { link_costs: costs, link_availability: up, fixed_agents: fixed } = this.#table;
    return {
      links: [...(costs ?? []).map(({ link, cost }) => [...link, `cost ${number(Number(cost))}`]), ...(up ?? []).map(({ link, up: share }) => [...link, `up ${number(Number(share))}`])],
      agents: (fixed ?? []).map((agent) => [agent, "not ours"]),
    };
  }

  get #table() { return this.#app.state.view?.design ?? {}; }

  get any() { return Object.keys(this.#table).length > 0; }

  /** Ends clicking on the graph. */
  rest() {
    this.#stop?.();
    this.#stop = null;
    this.#mode = null;
    this.render();
  }

  render() {
    const { state } = this.#app;
    if (!state.view) return;
    const why = whyNot(state.view, "set-design");
    const set = (key, read) => ({ typed: (typed) => this.#set(key, read(typed)), why });
    const given = Object.entries(this.#table).filter(([key]) => key !== "edges" && key !== "directed").length;
    patch(this.#element, el("summary", {}, "Limits", el("span", { class: "quiet" }, given ? ` – ${given} set` : " – none")),
      el("div", { class: "row", role: "group", "aria-label": "What a click on the graph means" }, modes.map(([name, label]) => el("button", {
        type: "button", class: "button", "data-key": name, "aria-pressed": String(this.#mode === name), "aria-disabled": why ? "true" : null, title: why,
        onclick: why ? null : () => this.#choose(this.#mode === name ? null : name),
      }, label))),
      this.#mode ? el("p", { class: "quiet" }, modes.find(([name]) => name === this.#mode)[2]) : null,
      this.#mode === "dear" ? text("limit-cost", "Cost of a dear link", this.#cost, { typed: (typed) => { this.#cost = Number(typed); } }, { type: "number", min: 0, step: "any" }) : null,
      this.#mode === "failing" ? text("limit-up", "Share of rounds it is up", this.#up, { typed: (typed) => { this.#up = Number(typed); } }, { type: "number", ...share }) : null,
      this.#mode ? this.#byName() : null,
      this.#list(),
      numbersOf.map(([key, label, more]) => text(`limit-${key}`, label, this.#table[key] ?? "", set(key, (typed) => (typed === "" ? null : Number(typed))), { type: "number", placeholder: "no limit", ...more })),
      ticks.map(([key, id, label]) => tick(id, label, this.#table[key] ?? false, set(key, (on) => on || null))));
  }

  #set(key, value) { return this.#app.state.edit([{ kind: "set-design", key, value }]); }

  #choose(mode) {
    this.#stop?.();
    this.#mode = mode;
    this.#stop = mode ? this.#app.graph.pick({
      agent: (i) => { if (this.#mode === "not ours") this.#agent(i); },
      link: (i, j) => { if (this.#mode !== "not ours") this.#link(i, j); },
      empty() {},
    }) : null;
    this.render();
  }

  /** The same as a click on the graph, by a list: for keyboards and readers. */
  #byName() {
    const { view } = this.#app.state;
    const names = view.agents;
    if (this.#mode === "not ours") {
      return choice("limit-agent", "Or by name", [["", "choose an agent"], ...names.map((name, i) => [i, name])], "", { typed: (i) => i !== "" && this.#agent(Number(i)) });
    }
    const links = this.#links().slice(0, 500);
    return choice("limit-link", "Or by name", [["", "choose a link"], ...links.map(([i, j]) => [`${i} ${j}`, this.#name(i, j)])], "", { typed: (typed) => typed && this.#link(...typed.split(" ").map(Number)) });
  }

  get #directed() {
    const given = this.#table.directed;
    if (given !== undefined) return given;
    const links = new Set(this.#app.state.view.weights.map(([i, j]) => `${i} ${j}`));
    return [...links].some((link) => !links.has(link.split(" ").reverse().join(" ")));
  }

  #links() {
    const directed = this.#directed;
    return this.#app.state.view.weights.filter(([i, j]) => (directed ? i !== j : i < j));
  }

  #name(i, j) {
    const { agents } = this.#app.state.view;
    return this.#directed ? `${agents[i]} hears ${agents[j]}` : `${agents[i]} – ${agents[j]}`;
  }

  #link(i, j) {
    const pair = this.#directed ? [i, j] : [Math.min(i, j), Math.max(i, j)];
    const [key, entry] = this.#mode === "dear" ? ["link_costs", { link: pair, cost: this.#cost }] : ["link_availability", { link: pair, up: this.#up }];
    const others = (this.#table[key] ?? []).filter(({ link }) => !same(link, pair, this.#directed));
    const had = others.length < (this.#table[key] ?? []).length;
    const next = had ? others : [...others, entry];
    return this.#set(key, next.length ? next : null);
  }

  #agent(i) {
    const fixed = this.#table.fixed_agents ?? [];
    const next = fixed.includes(i) ? fixed.filter((other) => other !== i) : [...fixed, i].sort((a, b) => a - b);
    return this.#set("fixed_agents", next.length ? next : null);
  }

  /** What clicks have set, each with a way to take it back. */
  #list() {
    const { agents } = this.#app.state.view;
    const { link_costs: costs = [], link_availability: up = [], fixed_agents: fixed = [] } = this.#table;
    const chip = (label, key, next) => button(`${label} ×`, () => this.#set(key, next.length ? next : null), { key: label, kind: "chip", name: `Take back: ${label}` });
    const chips = [
      ...costs.map((one) => chip(`${this.#name(...one.link)} costs ${number(Number(one.cost))}`, "link_costs", costs.filter((other) => other !== one))),
      ...up.map((one) => chip(`${this.#name(...one.link)} is up ${number(Number(one.up))}`, "link_availability", up.filter((other) => other !== one))),
      ...fixed.map((i) => chip(`${agents[i]} is not ours`, "fixed_agents", fixed.filter((other) => other !== i))),
    ];
    return chips.length ? el("div", { class: "chips" }, chips) : null;
  }
}

const same = ([a, b], [c, d], directed) => (a === c && b === d) || (!directed && a === d && b === c);
