// Agents and links as a list, for those who do not see the graph or would rather read it.

import { el } from "../dom.js";
import { button, fold } from "../fields.js";
import { influence, number, plural, share } from "../words.js";

export function render(app) {
  const { view, numbers, selection } = app.state;
  const v = influence(numbers);
  const links = view.weights.filter(([i, j]) => i !== j).length;
  const summary = `${plural(view.agents.length, "agent")} and ${plural(links, "link")} as a list`;
  return fold(app, "agents", summary, { open: false, className: "panel" }, () =>
    el(
      "ul",
      { class: "agents" },
      view.agents.map((name, i) => agent(app.state, name, i, v, selection)),
    ),
  );
}

function agent(state, name, i, v, selection) {
  const { view } = state;
  const chosen = selection.agent === i || selection.link?.[0] === i;
  const heard = chosen ? view.weights.filter(([a, b]) => a === i && b !== i) : [];
  const about = [
    v ? `influence ${share(v[i])}` : null,
    view.evidence?.[i]?.label,
    view.faults?.faulty?.includes(i) ? "faulty" : null,
  ]
    .filter(Boolean)
    .join(", ");
  return el(
    "li",
    { "data-key": `a${i}` },
    el(
      "button",
      {
        type: "button",
        class: "button plain",
        "aria-pressed": String(selection.agent === i),
        onclick: () => state.select({ agent: i }),
      },
      name,
      el("span", { class: "quiet" }, ` ${about}`),
    ),
    chosen && heard.length
      ? el(
          "ul",
          {},
          heard.map(([, j, weight]) =>
            el(
              "li",
              { "data-key": `l${j}` },
              button(
                `listens to ${view.agents[j]}, weight ${number(weight)}`,
                () => state.select({ link: [i, j] }),
                { kind: "plain", key: `b${j}` },
              ),
            ),
          ),
        )
      : null,
  );
}
