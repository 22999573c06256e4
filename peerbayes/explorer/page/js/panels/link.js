// The link that is selected: its weight, its way back, and the way to cut it.

import { el } from "../dom.js";
import { button, slider, whyNot } from "../fields.js";

export function render({ state, actions }) {
  const { view, selection } = state;
  const [i, j] = selection.link;
  const back = actions.weight(j, i);
  const [a, b] = [view.agents[i], view.agents[j]];
  const key = `link${i}-${j}`;
  return el(
    "section",
    { class: "panel", "data-key": key, "aria-label": `Link: ${a} listens to ${b}` },
    el("h2", {}, `${a} listens to ${b}`),
    slider({ state }, key, "Weight", {
      value: actions.weight(i, j),
      edits: (value) => [{ kind: "set-weight", from: i, to: j, value }],
      why: whyNot(view, "set-weight"),
    }),
    back > 0
      ? slider({ state }, `${key}-back`, `${b} listens to ${a}`, {
          value: back,
          edits: (value) => [{ kind: "set-weight", from: j, to: i, value }],
          why: whyNot(view, "set-weight"),
        })
      : null,
    el("p", { class: "quiet" }, `What ${a} puts on others and itself is scaled, so that it sums to one.`),
    el(
      "div",
      { class: "row" },
      button("Cut this link", () => actions.cut(i, j, false), {
        key: `${key}-cut`,
        why: whyNot(view, "remove-link"),
      }),
      back > 0
        ? button("Cut both ways", () => actions.cut(i, j, true), {
            key: `${key}-cut-both`,
            why: whyNot(view, "remove-link"),
          })
        : button("Link back", () => actions.link(j, i, false), {
            key: `${key}-link-back`,
            why: whyNot(view, "add-link"),
          }),
    ),
  );
}
