// The page of `peerbayes watch`: a live network as it runs. Nothing on it changes the network.

import { beside, curves, hypotheses, scrolled, simpleTable } from "./charts.js";
import { el, patch } from "./dom.js";
import { button } from "./fields.js";
import { Graph } from "./graph.js";
import { icon } from "./icons.js";
import { mountLine } from "./line.js";
import { LiveSource } from "./source.js";
import { State, spread } from "./state.js";
import { nextTheme, startTheme } from "./theme.js";
import { count, number, plural } from "./words.js";

const at = (id) => document.getElementById(id);
const again = 1000; // milliseconds before a lost server is asked again
const mostLinks = 40;
const mostLines = 40;
const milli = (seconds) => (seconds === null ? "–" : number(1000 * seconds));

class Live {
  constructor() {
    this.source = new LiveSource(new URLSearchParams(location.search).get("token") ?? "");
    this.state = new State(this.source);
    this.told = null;
    startTheme(this.state, () => this.graph.restyle());
    this.graph = new Graph(at("graph"), this.state, () => 0);
    mountLine(at("line"), this);
    patch(at("commands"), button("Theme", () => nextTheme(this.state), { key: "theme", icon: icon("theme") }));
    patch(at("corner"), button("", () => this.graph.fit(), { key: "fit", kind: "icon-only", icon: icon("fit"), name: "Show the whole graph" }));
  }

  /** Shows what comes until the watcher ends. */
  async follow() {
    for (;;) {
      try {
        await this.source.follow({ onProgress: ({ progress }) => this.show(progress) });
        this.state.say("The watcher has ended; this is what it saw last.", "refusal");
        return;
      } catch (problem) {
        this.state.say(problem.message, "refusal");
        await new Promise((resolve) => setTimeout(resolve, again));
      }
    }
  }

  show({ document: told, layout }) {
    this.told = told;
    const { agents, links } = told;
    if (this.state.line?.kind === "refusal") this.state.say(null);
    this.#draw(told, layout);
    this.graph.overlay.beliefs(agents.map((agent) => (agent.state === "gone" ? null : agent.probabilities)));
    const away = (agent) => ["gone", "silent", "not seen"].includes(agent.state);
    this.graph.absent(
      agents.flatMap((agent, i) => (away(agent) ? [i] : [])),
      links.filter(({ alive, heard }) => alive === false || away(agents[heard])).map(({ hearer, heard }) => [hearer, heard]),
    );
    document.title = `${told.name} – peerbayes watch`;
    patch(at("name"), el("strong", {}, told.name), el("span", { class: "quiet" }, ` ${told.title || told.network}, ${count(Math.round(told.seconds))} s`));
    patch(at("headline"), tiles(told));
    patch(at("views"), el("section", { class: "view" }, sections(told)));
  }

  /** The graph anew, where agents or links are others, or weights have moved. */
  #draw({ agents, links, name, title }, layout) {
    if (!agents.length) return;
    const weights = links.map(({ hearer, heard, weight, weight_given: given }) => [hearer, heard, weight ?? given ?? 0.2]);
    const influence = agents.map((agent) => agent.influence);
    const known = influence.some((share) => share !== null);
    const seen = JSON.stringify([agents.map((agent) => agent.name), weights.map(([i, j, w]) => [i, j, w.toFixed(1)]), known && influence.map((share) => (share ?? 0).toFixed(2))]);
    if (seen === this.seen) return;
    const places = this.state.view?.agents.length === agents.length ? this.state.positions : spread(layout);
    this.seen = seen;
    const view = { name, title, agents: agents.map((agent) => agent.name), weights, layout, faults: null };
    const numbers = { network: { influence: known ? influence.map((share) => share ?? 0) : null }, learning: null };
    this.state.open({ document: null, view, numbers }, places);
  }
}

/** The stretch of time of which the numbers are, and its deciding rate. */
function deciding({ stretches, main }) {
  const known = stretches[main].rates.filter(({ predicted, measured }) => predicted !== null || measured !== null);
  return known.sort((a, b) => (a.predicted ?? a.measured) - (b.predicted ?? b.measured))[0] ?? null;
}

function tiles(told) {
  const rate = deciding(told);
  const here = told.agents.filter(({ state }) => state === "here").length;
  const tile = (key, name, about, text, below = "\u00a0") =>
    el("div", { class: "tile", "data-key": key, title: about },
      el("span", { class: "tile-name" }, name),
      el("span", { class: "tile-value", "data-number": key }, text),
      el("span", { class: "tile-before" }, below));
  const error = rate?.standard_error ? `± ${number(rate.standard_error, 2)}` : undefined;
  return [
    tile("predicted", "Predicted", "Nats a second, from who is heard and how late", number(rate?.predicted)),
    tile("measured", "Measured", "Nats a second, by the slope of beliefs", number(rate?.measured), error),
    tile("round", "A round, ms", "Time in which the network gains what a synchronous round brings", milli(told.stretches[told.main].round_seconds)),
    tile("here", "Here", "Agents that are there", `${here} of ${told.agents.length}`),
  ];
}

function sections(told) {
  return [
    told.hypotheses ? hypotheses(told.hypotheses, [told.reference], "settles on") : null,
    rates(told),
    course(told),
    table("Agents", ["agent", "state", "round", "ms", "v", "slowness", "believes", "refused"], told.agents.map(agentRow)),
    table("Links", ["agent hears", "weight", "used", "ms old", "late"], linkRows(told)),
    told.notes.length ? el("ul", { class: "notes" }, told.notes.map((note) => el("li", {}, note))) : null,
  ].filter(Boolean);
}

function rates({ stretches, main }) {
  const { rates: all, seconds } = stretches[main];
  const rows = all.slice(0, 12).map(({ hypothesis: label, predicted, measured, standard_error: error }) => ({ label, predicted: predicted ?? undefined, measured: measured ?? undefined, error }));
  if (!rows.length) return el("p", { class: "quiet" }, "Rates follow when every agent has reported twice.");
  return beside({ title: "Rates, nats a second", summary: `over ${number(seconds)} s`, rows }).element;
}

function course({ course: told, stretches }) {
  if (!told) return null;
  const lines = told.agents.slice(0, mostLines).map((label, i) => ({ name: i ? null : "agents", label, kind: "line", thin: true, xs: told.seconds[i], ys: told.log_ratios[i], colour: "var(--ink)" }));
  const slopes = stretches.flatMap(({ began, seconds, present, rates: all }) => {
    const rate = all.find(({ hypothesis }) => hypothesis === told.hypothesis)?.predicted;
    if (!rate || seconds <= 0) return [];
    const begin = told.agents.flatMap((name, i) => {
      const first = told.seconds[i].findIndex((time) => time >= began);
      return present.includes(name) && first >= 0 ? [told.log_ratios[i][first]] : [];
    });
    if (!begin.length) return [];
    const start = begin.reduce((sum, value) => sum + value, 0) / begin.length;
    return [{ name: null, label: "predicted", kind: "line", dash: "6 4", xs: [began, began + seconds], ys: [start, start + rate * seconds], colour: "var(--bad)" }];
  });
  if (slopes.length) slopes[0].name = "predicted";
  const last = Math.max(...told.seconds.map((times) => times.at(-1)), 1);
  const tallest = Math.max(...told.log_ratios.flat(), 1);
  const chart = curves({
    title: `Log-odds of ${told.reference} against ${told.hypothesis}`, summary: `${number(tallest)} nats after ${number(last)} s`,
    series: [...lines, ...slopes], x: { label: "seconds", from: 0, to: last }, y: { label: "nats", to: tallest },
  });
  chart.mark(last);
  return chart.element;
}

function agentRow(agent) {
  const { name, state, round, round_seconds: seconds, influence, slowness, believes, probability, accuracy, refused, began_anew: anew } = agent;
  const belief = accuracy !== null ? number(accuracy) : believes === null ? "–" : `${believes} ${number(probability)}`;
  const all = Object.values(refused).reduce((sum, value) => sum + value, 0);
  return [name, anew ? `${state}, ${plural(anew, "time")} anew` : state, count(round), milli(seconds), number(influence), number(slowness), belief, count(all)];
}

function linkRows({ agents, links }) {
  const listed = [...links].sort((a, b) => (b.seconds ?? 0) - (a.seconds ?? 0)).slice(0, mostLinks);
  return listed.map(({ hearer, heard, alive, weight, weight_given: given, used, seconds, rounds_late: late }) => [
    `${agents[hearer].name} hears ${agents[heard].name}${alive === false ? " (gone)" : ""}`,
    given === null || weight === null ? number(weight ?? given) : `${number(weight)} of ${number(given)}`, number(used), milli(seconds), number(late),
  ]);
}

function table(title, head, rows) {
  return el("section", { class: "chart", "aria-label": title }, el("div", { class: "chart-head" }, el("h2", {}, title)),
    scrolled(title, simpleTable(head, rows)));
}

const live = new Live();
globalThis.peerbayes = live; // for the browser's console
live.follow();
