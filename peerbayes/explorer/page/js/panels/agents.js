// Agents and links as a list, for those who do not see the graph or would rather read it.

import { el } from "../dom.js";
import { button, fold } from "../fields.js";
import { influence, number, plural, share } from "../words.js";

export function render(app) {
  const { view } = app.state;
  const links = view.weights.filter(([i, j]) => i !== j).length;
  const summary = `${plural(view.agents.length, "agent")} and ${plural(links, "link")} as a list`;
  return fold(app, "agents", summary, { open: false, className: "panel" }, () =>
    el("ul", { class: "agents" }, view.agents.map((name, i) => agent(app.state, name, i))));
}

function agent(state, name, i) {
  const { view, numbers, selection } = state;
  const v = influence(numbers);
  const chosen = selection.agent === i || selection.link?.[0] === i;
  const heard = chosen ? view.weights.filter(([a, b]) => a === i && b !== i) : [];
  const about = [
    v ? `influence ${share(v[i])}` : null,
    view.evidence?.[i]?.label,
    view.faults?.faulty?.includes(i) ? "faulty" : null,
  ].filter(Boolean).join(", ");
  const link = ([, j, weight]) => el("li", { "data-key": `l${j}` },
    button(`listens to ${view.agents[j]}, weight ${number(weight)}`, () => state.select({ link: [i, j] }), { kind: "plain", key: `b${j}` }));
  return el("li", { "data-key": `a${i}` },
    button(name, () => state.select({ agent: i }), { kind: "plain", key: null, "aria-pressed": String(selection.agent === i) },
      el("span", { class: "quiet" }, ` ${about}`)),
    heard.length ? el("ul", {}, heard.map(link)) : null);
}
