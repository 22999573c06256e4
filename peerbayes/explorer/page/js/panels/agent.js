// The agent that is selected: its name, whom it listens to, what it knows.

import { el } from "../dom.js";
import { button, choice, slider, text, tick, whyNot } from "../fields.js";
import { influence, number, share } from "../words.js";
import { faultsEdit } from "./faults.js";

const mostLinks = 60;

export function render({ state, actions, graph }) {
  const { view, numbers, selection } = state;
  const i = selection.agent;
  const name = view.agents[i];
  const key = `agent${i}`;
  const heard = view.weights.filter(([a, b]) => a === i && b !== i);
  const self = actions.weight(i, i);
  const v = influence(numbers)?.[i];
  return el(
    "section",
    { class: "panel", "data-key": key, "aria-label": `Agent ${name}` },
    el("h2", {}, `Agent ${name}`),
    el(
      "p",
      { class: "quiet" },
      v === undefined ? "" : `influence v ${number(v)}, ${share(v)} of all; `,
      `listens to ${heard.length}, heard by ${view.weights.filter(([a, b]) => b === i && a !== i).length}`,
    ),
    text(
      `${key}-name`,
      "Name",
      name,
      (typed) => state.edit([{ kind: "rename-agent", agent: i, name: typed }]),
      { why: whyNot(view, "rename-agent") },
    ),
    slider({ state }, `${key}-self`, "Trust in itself", {
      value: self,
      edits: (value) => [{ kind: "set-self-weight", agent: i, value }],
      why: whyNot(view, "set-self-weight"),
    }),
    el(
      "details",
      { open: heard.length <= 12, "data-key": `${key}-links` },
      el("summary", {}, "Whom it listens to"),
      heard.slice(0, mostLinks).map(([, j, weight]) =>
        slider({ state }, `${key}-hears-${j}`, view.agents[j], {
          value: weight,
          edits: (value) => [{ kind: "set-weight", from: i, to: j, value }],
          why: whyNot(view, "set-weight"),
          quiet: true,
        }),
      ),
      heard.length > mostLinks
        ? el("p", { class: "quiet" }, `${heard.length - mostLinks} more: select a link to change it.`)
        : null,
    ),
    knows(state, i, key),
    el(
      "div",
      { class: "row" },
      button("Listen to …", () => pickLink({ state, graph, actions }, i), {
        key: `${key}-listen`,
        why: whyNot(view, "add-link"),
      }),
      button("Remove the agent", () => actions.removeAgent(i), {
        key: `${key}-remove`,
        why: whyNot(view, "remove-agent"),
      }),
    ),
  );
}

function pickLink({ state, graph, actions }, i) {
  state.say(`Choose on the graph whom ${state.view.agents[i]} is to listen to.`, "notice");
  const stop = graph.pick({
    agent(j) {
      stop();
      state.say(null);
      if (j !== i) actions.link(i, j, false);
    },
    empty() {
      stop();
      state.say(null);
    },
  });
}

/** Evidence, batch, truth and prior of one agent. */
function knows(state, i, key) {
  const { view } = state;
  const mine = view.evidence?.[i];
  if (!mine) return null;
  const groups = (view.groups ?? []).map((label, g) => [g, label]);
  const holder = (g) => view.evidence.findIndex((one) => one.of === g);
  const others = groups.filter(([g]) => holder(g) >= 0);
  const faulty = view.faults?.faulty ?? [];
  const entry = entryOf(state.document, i);
  return el(
    "details",
    { open: true, "data-key": `${key}-knows` },
    el("summary", {}, "What it sees"),
    choice(
      `${key}-evidence`,
      "Evidence",
      others,
      mine.of,
      (g) => state.edit([{ kind: "set-evidence", agent: i, of: holder(Number(g)) }]),
      whyNot(view, "set-evidence"),
    ),
    text(
      `${key}-batch`,
      "Observations a round",
      mine.batch ?? 1,
      (typed) => state.edit([{ kind: "set-batch", agent: i, value: Math.round(Number(typed)) }]),
      { type: "number", min: 1, step: 1, why: whyNot(view, "set-batch") },
    ),
    truthField(state, i, `${key}-truth`, typeof entry.truth === "string" ? entry.truth : ""),
    view.hypotheses.length
      ? text(
          `${key}-prior`,
          "Prior belief",
          entry.prior?.join(", "),
          (typed) => state.edit([{ kind: "set-prior", agent: i, prior: numbersIn(typed) }]),
          { why: whyNot(view, "set-prior"), placeholder: "uniform" },
        )
      : null,
    el(
      "div",
      { class: "row" },
      button("Take its evidence away", () => state.edit([{ kind: "clear-evidence", agent: i }]), {
        key: `${key}-clear`,
        why: whyNot(view, "clear-evidence"),
      }),
    ),
    tick(
      `${key}-faulty`,
      "Faulty: breaks or lies",
      faulty.includes(i),
      (on) =>
        state.edit([
          faultsEdit(view, on ? [...faulty, i].sort((a, b) => a - b) : faulty.filter((one) => one !== i)),
        ]),
      whyNot(view, "set-faults"),
    ),
  );
}

export function truthField(state, agent, key, value) {
  const { view } = state;
  return choice(
    key,
    "What is true",
    [["", "as in the file"], ...view.hypotheses.map((name) => [name, name])],
    value,
    (of) => of && state.edit([{ kind: "set-truth", agent, of }]),
    whyNot(view, "set-truth"),
  );
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
