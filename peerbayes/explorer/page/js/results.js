// What a run has shown: charts of beliefs, errors and rates, and the sentences that go with them.

import { beside, curves, hypotheses } from "./charts.js";
import { el } from "./dom.js";
import { count, hue, number, plural, share } from "./words.js";

const mostLines = 40; // agents drawn one by one

/** {elements, mark(round)} of a result of /api/run. */
export function results(app, result) {
  const charts = result.beliefs ? [beliefChart(app, result), errorChart(result), rateChart(result)] : [regressionChart(result)];
  const shown = charts.filter(Boolean);
  const words = result.words?.length ? el("ul", { class: "notes" }, result.words.map((line) => el("li", {}, line))) : null;
  return {
    elements: [result.beliefs ? hypotheses(result.hypotheses, result.reference, "best") : null, ...shown.map(({ element }) => element), sentence(result), words].filter(Boolean),
    mark(round) { for (const chart of shown) chart.mark?.(round); },
  };
}

function beliefChart({ state }, { rounds, beliefs, hypotheses: names, reference, cloud }) {
  const best = names.map((name, k) => (reference.includes(name) ? k : -1)).filter((k) => k >= 0);
  const colour = hue(best[0] ?? 0);
  const honest = beliefs[0].map((row, agent) => (row ? agent : -1)).filter((agent) => agent >= 0);
  const drawn = honest.slice(0, mostLines);
  const of = (agent) => beliefs.map((round) => best.reduce((sum, k) => sum + round[agent][k], 0));
  const quantile = (q) => cloud.values.map((row) => row[q]);
  const runs = plural(cloud.replicates, "run");
  const series = [
    { name: `worst agent, 9 of 10 of ${runs}`, kind: "band", faint: true, xs: rounds, lows: quantile(0), highs: quantile(4), colour },
    { name: "half of them", kind: "band", xs: rounds, lows: quantile(1), highs: quantile(3), colour },
    { name: "their median", kind: "line", dash: "5 4", xs: rounds, ys: quantile(2), colour },
    ...drawn.map((agent, at) => ({ name: at ? null : "one run, agent by agent", label: state.view.agents[agent], kind: "line", thin: true, xs: rounds, ys: of(agent), colour: "var(--ink)" })),
  ];
  const end = (cloud.values.at(-1) ?? [])[2];
  return curves({
    title: `Belief in ${reference.join(" or ")}`, look: "belief", series,
    summary: `by round ${count(rounds.at(-1))} the worst agent's belief has a median of ${number(end)} over ${runs}`,
    x: { label: "round", from: 0, to: rounds.at(-1) }, y: { label: "belief", from: 0, to: 1 },
  });
}

function errorChart({ rounds, error_share: shares, error_interval: intervals, bound, replicates }) {
  if (!shares) return null;
  const series = [
    { name: "95 % interval", kind: "band", xs: rounds, lows: intervals.map(([low]) => low), highs: intervals.map(([, up]) => up), colour: "var(--accent)" },
    { name: "share of runs", kind: "line", xs: rounds, ys: shares, colour: "var(--accent)" },
    ...(bound ? [{ name: "proved bound", kind: "line", dash: "6 4", xs: rounds, ys: bound.map((value) => Math.min(1, value)), colour: "var(--bad)" }] : []),
  ];
  const least = Math.min(...shares.filter((value) => value > 0), 1 / replicates, 0.1);
  return curves({
    title: "Runs in which some agent is wrong", look: "error_share", series,
    summary: `${share(shares.at(-1))} of ${plural(replicates, "run")} at round ${count(rounds.at(-1))}${bound ? `; proved to be at most ${number(Math.min(1, bound.at(-1)))}` : ""}`,
    x: { label: "round", from: 0, to: rounds.at(-1) }, y: { label: "share", log: true, from: least / 2, to: 1 },
  });
}

function rateChart({ rates, rounds }) {
  const rows = Object.entries(rates ?? {}).map(([label, { predicted, expected, measured, standard_error: error }]) => ({ label, predicted: expected ?? predicted, measured, error }));
  if (!rows.length) return null;
  return beside({
    title: "Rates of the wrong hypotheses", look: "measured_rate", rows: rows.slice(0, 12),
    summary: `nats a round, mean over the first ${count(rounds.at(-1))} rounds; ${rows.slice(0, 3).map(({ label, predicted, measured }) => `${label}: predicted ${number(predicted)}, measured ${number(measured)}`).join("; ")}`,
  });
}

function sentence({ predicted_rate: predicted, expected_rate: expected, measured_rate: measured, measured_standard_error: error, binding_hypothesis: binding, rounds }) {
  if (measured === null || measured === undefined) return null;
  const limit = predicted === null || predicted === undefined ? "" : ` In the limit: ${number(predicted)}.`;
  const mean = expected === null || expected === undefined ? "" : ` predicted for this round ${number(expected)},`;
  return el("p", { class: "run-sentence" }, `${binding ? `Rate of ${binding}` : "n × error"} at round ${count(rounds.at(-1))}:${mean} measured ${number(measured)}${error ? ` ± ${number(error, 2)}` : ""}.${limit}`);
}

function regressionChart({ rounds, cloud, network_error: mean, predicted_error: predicted, errors }) {
  const quantile = (q) => cloud.values.map((row) => row[q]);
  const series = [
    { name: `worst agent, 9 of 10 of ${plural(cloud.replicates, "run")}`, kind: "band", faint: true, xs: rounds, lows: quantile(0), highs: quantile(4), colour: "var(--accent)" },
    ...errors[0].slice(0, mostLines).map((_, agent) => ({ name: agent ? null : "one run, agent by agent", kind: "line", thin: true, xs: rounds, ys: errors.map((row) => row[agent]), colour: "var(--ink)" })),
    { name: "mean of all runs", kind: "line", xs: rounds, ys: mean, colour: "var(--accent)" },
    { name: "predicted", kind: "line", dash: "6 4", xs: rounds, ys: predicted, colour: "var(--bad)" },
  ];
  return curves({
    title: "Excess error", look: "belief", series,
    summary: `at round ${count(rounds.at(-1))} measured ${number(mean.at(-1))}, predicted ${number(predicted.at(-1))}`,
    x: { label: "round", from: 0, to: rounds.at(-1) }, y: { label: "error", log: true, from: Math.min(...predicted, ...mean), to: Math.max(...quantile(4)) },
  });
}
