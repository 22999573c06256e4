// What is selected: an agent, whom it listens to and what it knows; or a link, its weight and its way back.

import { el } from "../dom.js";
import { button, choice, part, sends, slider, text, tick, whyNot } from "../fields.js";
import { influence, number, share } from "../words.js";
import { faultsEdit } from "./tables.js";

const mostLinks = 60;

export function render(app) {
  const { agent, link } = app.state.selection;
  if (agent !== undefined) return agentPanel(app, agent);
  if (link) return linkPanel(app, ...link);
  return el("p", { class: "quiet panel", "data-key": "none" }, "Tap an agent or a link to change it.");
}

/** The weight that agent i puts on agent j. */
function weight({ state, actions }, key, label, i, j, more) {
  const ask = sends(state, "set-weight", (value) => ({ from: i, to: j, value }));
  return slider({ state }, key, label, actions.weight(i, j), ask, more);
}

function agentPanel(app, i) {
  const { state, actions } = app;
  const { view, numbers } = state;
  const name = view.agents[i];
  const key = `agent${i}`;
  const heard = view.weights.filter(([a, b]) => a === i && b !== i);
  const listeners = view.weights.filter(([a, b]) => b === i && a !== i);
  const v = influence(numbers)?.[i];
  const more = heard.length - mostLinks;
  return el("section", { class: "panel", "data-key": key, "aria-label": `Agent ${name}` },
    el("h2", {}, `Agent ${name}`),
    el("p", { class: "quiet" },
      v === undefined ? "" : `influence v ${number(v)}, ${share(v)} of all; `,
      `listens to ${heard.length}, heard by ${listeners.length}`),
    text(`${key}-name`, "Name", name, sends(state, "rename-agent", (typed) => ({ agent: i, name: typed }))),
    slider({ state }, `${key}-self`, "Trust in itself", actions.weight(i, i),
      sends(state, "set-self-weight", (value) => ({ agent: i, value }))),
    part(`${key}-links`, "Whom it listens to", { open: heard.length <= 12 },
      heard.slice(0, mostLinks).map(([, j]) => weight(app, `${key}-hears-${j}`, view.agents[j], i, j, { quiet: true })),
      more > 0 ? el("p", { class: "quiet" }, `${more} more: select a link to change it.`) : null),
    knows(state, i, key),
    el("div", { class: "row" },
      button("Listen to …", () => pickLink(app, i), { key: `${key}-listen`, why: whyNot(view, "add-link") }),
      button("Remove the agent", () => actions.removeAgent(i), { key: `${key}-remove`, why: whyNot(view, "remove-agent") })));
}

function pickLink({ state, graph, actions }, i) {
  state.say(`Choose on the graph whom ${state.view.agents[i]} is to listen to.`, "notice");
  const done = () => {
    stop();
    state.say(null);
  };
  const stop = graph.pick({
    agent(j) {
      done();
      if (j !== i) actions.link(i, j, false);
    },
    empty: done,
  });
}

/** Evidence, batch, truth and prior of one agent. */
function knows(state, i, key) {
  const { view } = state;
  const mine = view.evidence?.[i];
  if (!mine) return null;
  const holder = (g) => view.evidence.findIndex((one) => one.of === Number(g));
  const groups = (view.groups ?? []).map((label, g) => [g, label]).filter(([g]) => holder(g) >= 0);
  const faulty = view.faults?.faulty ?? [];
  const entry = entryOf(state.document, i);
  const clear = () => state.edit([{ kind: "clear-evidence", agent: i }]);
  const others = (on) => (on ? [...faulty, i].sort((a, b) => a - b) : faulty.filter((one) => one !== i));
  return part(`${key}-knows`, "What it sees", {},
    choice(`${key}-evidence`, "Evidence", groups, mine.of,
      sends(state, "set-evidence", (g) => ({ agent: i, of: holder(g) }))),
    text(`${key}-batch`, "Observations a round", mine.batch ?? 1,
      sends(state, "set-batch", (typed) => ({ agent: i, value: Math.round(Number(typed)) })),
      { type: "number", min: 1, step: 1 }),
    truthField(state, i, `${key}-truth`, typeof entry.truth === "string" ? entry.truth : ""),
    view.hypotheses.length ? text(`${key}-prior`, "Prior belief", entry.prior?.join(", "),
      sends(state, "set-prior", (typed) => ({ agent: i, prior: numbersIn(typed) })), { placeholder: "uniform" }) : null,
    el("div", { class: "row" },
      button("Take its evidence away", clear, { key: `${key}-clear`, why: whyNot(view, "clear-evidence") })),
    tick(`${key}-faulty`, "Faulty: breaks or lies", faulty.includes(i),
      sends(state, "set-faults", (on) => faultsEdit(view, others(on)))));
}

export function truthField(state, agent, key, value) {
  const options = [["", "as in the file"], ...state.view.hypotheses.map((name) => [name, name])];
  const { typed, why } = sends(state, "set-truth", (of) => ({ agent, of }));
  return choice(key, "What is true", options, value, { typed: (of) => of && typed(of), why });
}

/** The entry of the problem file that agent i is part of; an entry may stand for many in a row. */
function entryOf(document, i) {
  let from = 0;
  for (const entry of document.model?.agents ?? []) {
    from += entry.count ?? 1;
    if (i < from) return entry;
  }
  return {};
}

/** Numbers of a text such as "1/2, 1/4, 1/4", as exact as they are written; null for none. */
function numbersIn(typed) {
  const found = typed.split(/[\s,;]+/).filter(Boolean);
  return found.length ? found : null;
}

function linkPanel(app, i, j) {
  const { state, actions } = app;
  const { view } = state;
  const back = actions.weight(j, i) > 0;
  const [a, b] = [view.agents[i], view.agents[j]];
  const key = `link${i}-${j}`;
  const [add, cut] = [whyNot(view, "add-link"), whyNot(view, "remove-link")];
  return el("section", { class: "panel", "data-key": key, "aria-label": `Link: ${a} listens to ${b}` },
    el("h2", {}, `${a} listens to ${b}`),
    weight(app, key, "Weight", i, j),
    back ? weight(app, `${key}-back`, `${b} listens to ${a}`, j, i) : null,
    el("p", { class: "quiet" }, `What ${a} puts on others and itself is scaled, so that it sums to one.`),
    el("div", { class: "row" },
      button("Cut this link", () => actions.cut(i, j, false), { key: `${key}-cut`, why: cut }),
      back ? button("Cut both ways", () => actions.cut(i, j, true), { key: `${key}-cut-both`, why: cut })
        : button("Link back", () => actions.link(j, i, false), { key: `${key}-link-back`, why: add })));
}
