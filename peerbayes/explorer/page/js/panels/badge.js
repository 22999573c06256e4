// What a number is, as a short word that is spelled out for those who ask or listen.

import { el } from "../dom.js";
import { kinds } from "../words.js";

const short = {
  exact: "exact",
  certified: "proved",
  float: "float",
  "upper bound": "≤",
  "lower bound": "≥",
  estimate: "≈",
  "not a theorem": "not proved",
};

export function badge(kind) {
  if (!kind) return null;
  return el(
    "span",
    { class: `badge badge-${kind.replaceAll(" ", "-")}`, title: kinds[kind] ?? kind },
    el("span", { "aria-hidden": "true" }, short[kind] ?? kind),
    el("span", { class: "heard" }, ` (${kinds[kind] ?? kind})`),
  );
}
