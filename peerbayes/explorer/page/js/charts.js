// Small charts: lines, bands, points and bars in SVG. Each has a name that says what is seen, a
// legend that does not rest on colour, and its numbers as a table on demand.
//
//   curves({title, summary, x, y: {label, log, from, to}, series}) -> {element, mark(x)}
//   bars({title, summary, head, rows})                            -> {element}
// A series is {name, kind: "line"|"band"|"points"|"bars", xs, ys | lows and highs, colour, dash, thin}.

import { bar, el, svg } from "./dom.js";
import { linear, logarithmic } from "./scales.js";
import { hue, number } from "./words.js";

const wide = 380;
const high = 190;
const edges = { left: 46, right: 10, top: 8, bottom: 34 };
let charts = 0;

/** Curves over one axis, with a line that marks where the reader is. */
export function curves({ title, summary, x, y, series, look = null }) {
  const across = linear([x.from, x.to], [edges.left, wide - edges.right]);
  const up = scaleOf(y, series);
  const cursor = svg("line", { class: "chart-cursor", y1: edges.top, y2: high - edges.bottom, x1: -10, x2: -10 });
  const picture = frame(title, summary, [
    axes(across, up, x.label, y.label),
    series.filter(({ kind }) => kind === "band").map((one) => band(one, across, up)),
    series.filter(({ kind }) => kind !== "band").map((one) => drawn(one, across, up)),
    cursor,
  ]);
  const element = figure(title, look, picture, legend(series), () => table(x, series));
  const mark = (value) => {
    const at = value === null ? -10 : across.at(value);
    cursor.setAttribute("x1", at);
    cursor.setAttribute("x2", at);
  };
  return { element, mark };
}

/** Bars in a list, one a row: [label, value, text, {before, kind}]. */
export function bars({ title, summary, rows, look = null }) {
  const most = Math.max(...rows.map(({ value }) => Math.abs(value ?? 0)), 1e-300);
  const row = ({ label, value, text, strong }) => bar(null,
    el("span", { class: strong ? "bar-label strong" : "bar-label" }, label), Math.abs(value ?? 0) / most,
    el("span", { class: "number" }, text ?? number(value)), { kind: strong ? "" : "bar-soft" });
  const list = el("ul", { class: "chart-bars", "aria-label": summary }, rows.map(row));
  return { element: el("section", { class: "chart", "data-look": look }, el("h2", {}, title), list) };
}

/** A prediction beside its measurement: a line for the one, a dot and its error for the other. */
export function beside({ title, summary, rows, look = null }) {
  const ends = rows.flatMap(({ predicted, measured, error }) => [predicted, measured - 2 * (error ?? 0), measured + 2 * (error ?? 0)]).filter(Number.isFinite);
  const across = linear([Math.min(0, ...ends), Math.max(0, ...ends) * 1.08 || 1], [120, wide - edges.right]);
  const height = 26 + 24 * rows.length;
  const picture = frame(title, summary, [
    across.ticks.map(([value, label]) => [
      svg("line", { class: "chart-grid", x1: across.at(value), x2: across.at(value), y1: 2, y2: height - 20 }),
      svg("text", { class: "chart-tick", x: across.at(value), y: height - 6, "text-anchor": "middle" }, label)]),
    rows.map(({ label, predicted, measured, error }, at) => {
      const y = 14 + 24 * at;
      const spread = 2 * (error ?? 0);
      return [
        svg("text", { class: "chart-tick", x: 112, y: y + 4, "text-anchor": "end" }, short(label)),
        Number.isFinite(predicted) ? svg("line", { class: "chart-predicted", x1: across.at(predicted), x2: across.at(predicted), y1: y - 9, y2: y + 9 }) : null,
        Number.isFinite(measured) ? [
          svg("line", { class: "chart-error", x1: across.at(measured - spread), x2: across.at(measured + spread), y1: y, y2: y }),
          svg("circle", { class: "chart-dot", cx: across.at(measured), cy: y, r: 3.5 })] : null,
      ].filter(Boolean);
    }),
  ], height);
  const key = el("ul", { class: "legend" },
    el("li", {}, svg("svg", { width: 22, height: 14, "aria-hidden": "true" }, svg("line", { class: "chart-predicted", x1: 11, x2: 11, y1: 1, y2: 13 })), "predicted"),
    el("li", {}, svg("svg", { width: 22, height: 14, "aria-hidden": "true" }, svg("line", { class: "chart-error", x1: 2, x2: 20, y1: 7, y2: 7 }), svg("circle", { class: "chart-dot", cx: 11, cy: 7, r: 3.5 })), "measured, ± 2 standard errors"));
  return { element: figure(title, look, picture, key, () => simpleTable(["hypothesis", "predicted", "measured", "standard error"], rows.map(({ label, predicted, measured, error }) => [label, number(predicted), number(measured), number(error)]))) };
}

const short = (text) => (text.length > 16 ? `${text.slice(0, 15)}…` : text);

function scaleOf({ log, from, to }, series) {
  const values = series.flatMap(({ ys, lows, highs }) => [...(ys ?? []), ...(lows ?? []), ...(highs ?? [])]).filter(Number.isFinite);
  const place = [high - edges.bottom, edges.top];
  if (!log) return linear([from ?? Math.min(0, ...values), to ?? Math.max(...values, from ?? 0)], place);
  const seen = values.filter((value) => value > 0);
  return logarithmic([from ?? Math.min(...seen, 0.1), to ?? Math.max(...seen, 1e-3)], place);
}

function axes(across, up, xLabel, yLabel) {
  const bottom = high - edges.bottom;
  return [
    up.ticks.map(([value, label]) => [
      svg("line", { class: "chart-grid", x1: edges.left, x2: wide - edges.right, y1: up.at(value), y2: up.at(value) }),
      svg("text", { class: "chart-tick", x: edges.left - 6, y: up.at(value) + 4, "text-anchor": "end" }, label)]),
    svg("line", { class: "chart-axis", x1: edges.left, x2: wide - edges.right, y1: bottom, y2: bottom }),
    across.ticks.map(([value, label]) => svg("text", { class: "chart-tick", x: across.at(value), y: bottom + 15, "text-anchor": "middle" }, label)),
    svg("text", { class: "chart-label", x: (edges.left + wide - edges.right) / 2, y: high - 4, "text-anchor": "middle" }, [xLabel, yLabel ? ` – ${yLabel}` : ""].join("")),
  ];
}

function drawn(one, across, up) {
  const colour = { style: { "--series": one.colour } };
  if (one.kind === "points") {
    return one.xs.map((x, i) => (Number.isFinite(one.ys[i]) ? svg("circle", { class: "chart-point", cx: across.at(x), cy: up.at(one.ys[i]), r: 2, ...colour }) : null)).filter(Boolean);
  }
  let pen = "M"; // lifted where there is no value, or none that a logarithmic axis can show
  const path = one.xs.map((x, i) => {
    const value = one.ys[i];
    if (!Number.isFinite(value) || value < up.least) { pen = "M"; return ""; }
    const step = `${pen}${across.at(x).toFixed(1)} ${up.at(value).toFixed(1)}`;
    pen = "L";
    return step;
  }).join("");
  return svg("path", { class: one.thin ? "chart-line thin" : "chart-line", d: path, "stroke-dasharray": one.dash ?? null, ...colour });
}

function band({ xs, lows, highs, colour, faint }, across, up) {
  const places = (values) => xs.map((x, i) => `${across.at(x).toFixed(1)} ${up.at(values[i]).toFixed(1)}`);
  return svg("path", { class: faint ? "chart-band faint" : "chart-band", d: `M${places(highs).join("L")}L${places(lows).reverse().join("L")}Z`, style: { "--series": colour } });
}

function frame(title, summary, children, height = high) {
  return svg("svg", { class: "chart-picture", viewBox: `0 0 ${wide} ${height}`, role: "img", "aria-label": `${title}: ${summary}` }, children);
}

function legend(series) {
  const named = series.filter(({ name }) => name);
  return el("ul", { class: "legend" }, named.map((one) => el("li", {}, sample(one), one.name)));
}

function sample({ kind, colour, dash, faint, thin }) {
  const style = { style: { "--series": colour } };
  const mark = kind === "band" ? svg("rect", { class: faint ? "chart-band faint" : "chart-band", x: 1, y: 2, width: 20, height: 10, ...style })
    : kind === "points" ? svg("circle", { class: "chart-point", cx: 11, cy: 7, r: 3, ...style })
      : svg("line", { class: thin ? "chart-line thin" : "chart-line", x1: 1, x2: 21, y1: 7, y2: 7, "stroke-dasharray": dash ?? null, ...style });
  return svg("svg", { width: 22, height: 14, "aria-hidden": "true" }, mark);
}

/** A chart with its heading; the table is made when it is asked for. */
function figure(title, look, picture, key, makeTable) {
  charts += 1;
  const id = `chart-${charts}`;
  const below = scrolled(`${title}, as a table`, null, { id, hidden: true });
  const toggle = el("button", {
    type: "button", class: "button small", "aria-expanded": "false", "aria-controls": id, "aria-label": `${title}: numbers as a table`,
    onclick() {
      if (!below.firstChild) below.append(makeTable());
      below.hidden = !below.hidden;
      toggle.setAttribute("aria-expanded", String(!below.hidden));
    },
  }, "Table");
  return el("section", { class: "chart", "data-look": look, "aria-label": title }, el("div", { class: "chart-head" }, el("h2", {}, title), toggle), picture, key, below);
}

function table(x, series) {
  const columns = series.flatMap(({ name, kind, xs, ys, lows, highs, label }) => {
    const title = label ?? name ?? "";
    const at = (values) => new Map(xs.map((value, i) => [value, values[i]]));
    return kind === "band" ? [[`${title}, lower`, at(lows)], [`${title}, upper`, at(highs)]] : [[title, at(ys)]];
  });
  const places = [...new Set(series.flatMap(({ xs }) => xs))].sort((a, b) => a - b);
  return simpleTable([x.label, ...columns.map(([title]) => title)], places.map((place) => [number(place), ...columns.map(([, values]) => number(values.get(place)))]));
}

/** What scrolls by itself, such as a long table, with a name for those who listen. */
export const scrolled = (name, content, more = {}) =>
  el("div", { class: "chart-table", tabindex: "0", role: "region", "aria-label": name, ...more }, content);

/** The colours of the hypotheses, with a word on some of them. */
export const hypotheses = (names, chosen, word) =>
  el("ul", { class: "legend", "aria-label": "Colours of the hypotheses" }, names.slice(0, 24).map((name, k) => el("li", {},
    el("span", { class: "swatch", style: { background: hue(k) }, "aria-hidden": "true" }), name,
    chosen.includes(name) ? el("span", { class: "quiet" }, ` (${word})`) : null)));

/** A plain table of texts; the first column names the rows. */
export function simpleTable(head, rows) {
  return el("table", { class: "numbers plain" },
    el("thead", {}, el("tr", {}, head.map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map((text, i) => (i ? el("td", { class: "number" }, text) : el("th", { scope: "row" }, text)))))));
}
