// What a design found: its certificate, the usual rules beside it, what changed.

import { bars, scrolled, simpleTable } from "./charts.js";
import { el } from "./dom.js";
import { button } from "./fields.js";
import { count, interval, number } from "./words.js";

const measures = {
  rate: ["K", "rate", (one) => one?.rate],
  exponent: ["E", "error exponent", (one) => one?.error_exponent],
  samples: ["rounds", "rounds that are enough", (one) => rounds(one)?.at(-1)],
  mixing: ["the modulus", "subdominant modulus", (one) => one?.slem],
  placement: ["K", "rate", (one) => one?.value],
};
const errors = ["n × error", "excess error, times n", (one) => one?.excess_error_constant ?? one?.value];

/** What was asked for: its letter, its name, and where an answer has it. */
const measure = (objective, regression) => (regression && (objective === "rate" || objective === "placement") ? errors : measures[objective]);

export function designed(app, answer, before, tryEdits) {
  const names = before.view.agents;
  const asked = measure(answer.objective, before.view.kind === "regression");
  const parts = answer.objective === "next-edge" ? [ranked(answer, names, tryEdits)]
    : [certificate(answer, asked), rules(answer, asked), moves(answer, names)];
  const words = answer.words?.length ? el("ul", { class: "notes", "data-look": "notes" }, answer.words.map((line) => el("li", {}, line))) : null;
  return [...parts, changes(answer, names), words].filter(Boolean);
}

/** What is proved: the value reached, and the bound that nothing passes. */
function certificate({ certificate: proof, objective, stopped, designed: own }, [letter, , of]) {
  const value = of(own);
  if (!proof) return el("p", { "data-look": "certificate" }, `${letter} is ${number(value)}. No bound is proved: this is the best that was found.`);
  const { value: reached, bound, gap, sense } = proof;
  const small = sense === "minimise" || objective === "mixing" || objective === "samples";
  const line = gap !== null && gap <= 1e-6 * Math.max(1, Math.abs(reached)) ? "Nothing better exists under these limits." : `What is left to win is at most ${number(gap, 3)}.`;
  return el("section", { class: "certificate", "data-look": "certificate" },
    el("p", {}, el("strong", {}, `${letter} = `, el("span", { class: "number", "data-number": "design.value" }, number(reached))), stopped ? " (stopped by the clock)" : ""),
    el("p", {}, `Proved: no ${objective === "placement" ? "placement" : "network"} ${small ? "gets below" : "exceeds"} `, el("span", { class: "number", "data-number": "design.bound" }, number(bound)), ". ", line),
    el("p", { class: "quiet" }, `gap `, el("span", { class: "number", "data-number": "design.gap" }, number(gap, 3))));
}

function rounds(one) {
  const { certified, chernoff, repaired } = one?.samples ?? {};
  const best = certified ?? chernoff ?? repaired ?? one?.certified ?? one?.chernoff;
  return best === null || best === undefined ? null : [].concat(best);
}

const roundsText = (one) => { const found = rounds(one); return found === null ? "–" : found.length === 2 ? `${count(found[0])} to ${count(found[1])}` : count(found[0]); };

/** The design and the usual rules, as bars of what was asked for and as a table of all numbers. */
function rules({ objective, designed: own, baselines }, [, label, of]) {
  const all = [["designed", own], ...Object.entries(baselines ?? {})].filter(([, one]) => one);
  if (all.length < 2) return null;
  const chart = bars({
    title: `The design and the usual rules: ${label}`, summary: label,
    rows: all.map(([name, one], at) => ({ label: name, value: of(one), text: objective === "samples" ? roundsText(one) : number(of(one)), strong: at === 0 })),
  });
  if (objective === "placement" || of === errors[2]) return chart.element;
  const table = simpleTable(["", "K", "E", "modulus", "rounds"], all.map(([name, one]) => [name, number(one.rate), number(one.error_exponent), number(one.slem), roundsText(one)]));
  return el("div", {}, chart.element, el("details", {}, el("summary", {}, "All numbers of these"), scrolled("All numbers of the design and the rules", table)));
}

function ranked({ added, baselines, designed: best }, names, tryEdits) {
  const given = baselines?.["as given"];
  if (!best) return el("p", {}, "No edge can be added.");
  const name = ({ edge: [a, b] }) => `${names[a]} – ${names[b]}`;
  const row = (one) => [number(one.rate), number(one.slem), one.certified ? interval(one.certified) : count(one.chernoff)];
  return el("section", { "data-look": "next-edge" },
    el("p", {}, el("strong", {}, `${name(best)} `), `helps most: K from ${number(given?.rate)} to ${number(best.rate)}, modulus from ${number(given?.slem)} to ${number(best.slem)}.`),
    scrolled("Edges that could be added", el("table", { class: "numbers plain" },
      el("thead", {}, el("tr", {}, ["edge", "K", "modulus", "rounds", ""].map((head) => el("th", { scope: "col" }, head || el("span", { class: "heard" }, "try it"))))),
      el("tbody", {},
        el("tr", {}, el("th", { scope: "row" }, "none"), row(given ?? {}).map((text) => el("td", { class: "number" }, text)), el("td")),
        added.map((one) => el("tr", {}, el("th", { scope: "row" }, name(one)), row(one).map((text) => el("td", { class: "number" }, text)),
          el("td", {}, button("Try", () => tryEdits([{ kind: "add-link", from: one.edge[0], to: one.edge[1], both: true }]), { key: name(one), kind: "small", name: `Try the edge ${name(one)}` }))))))));
}

function moves({ objective, assignment }, names) {
  if (objective !== "placement" || !assignment) return null;
  const moved = assignment.map((holder, agent) => [agent, holder]).filter(([agent, holder]) => agent !== holder);
  if (!moved.length) return el("p", {}, "All data are well placed where they are.");
  return el("section", {}, el("h2", {}, "Who gets whose data"), el("ul", { class: "notes" }, moved.slice(0, 40).map(([agent, holder]) => el("li", {}, `${names[agent]} gets what ${names[holder]} had`))));
}

function changes({ changes: list, objective }, names) {
  if (!list?.length || objective === "placement") return null;
  const most = [...list].sort((a, b) => Math.abs(b[3] - b[2]) - Math.abs(a[3] - a[2])).slice(0, 30);
  return el("details", {}, el("summary", {}, `Weights that changed: ${count(list.length)}`),
    scrolled("Weights that changed",
      simpleTable(["listener hears", "before", "after"], most.map(([i, j, was, is]) => [i === j ? `${names[i]} itself` : `${names[i]} ← ${names[j]}`, number(was), number(is)]))));
}
