// The four numbers that are always in sight: K, E, rounds needed, mixing; beside the pinned ones.

import { el, shownTogether } from "../dom.js";
import { number } from "../words.js";
import { badge, best, roundsOf, roundsText, valuesOf } from "./values.js";

export function mount(container, { state }) {
  shownTogether(container, state, ["document", "certified", "pinned"], () => {
    const before = state.pinned ? tiles(state.pinned) : null;
    return tiles(state).map((tile, at) => shown(tile, before?.[at]));
  }).show();
}

function shown({ key, name, about, value, text, kind }, before) {
  const was = before && before.key === key && before.text !== text ? before : null;
  const compared = was && typeof was.value === "number" && typeof value === "number";
  const change = !compared || value === was.value ? "" : value > was.value ? "↑" : "↓";
  return el("div", { class: "tile", "data-key": key, "data-look": key, title: about },
    el("span", { class: "tile-name" }, name),
    el("span", { class: "tile-value", "data-number": key }, text, badge(kind)),
    el("span", { class: "tile-before" }, was ? `was ${was.text} ${change}` : "\u00a0"));
}

/** The four numbers of a state; for a regression, its error in place of the rates. */
function tiles(state) {
  const values = valuesOf(state);
  const tile = (key, name, about, { value, kind } = values[key], text = number(value)) =>
    ({ key, name, about, value, text, kind: value === null || value === undefined ? null : kind });
  const mixing = tile("slem", "Modulus",
    "Subdominant modulus: how slowly the network forgets who said what; 0 is at once, 1 never");
  if (state.view?.kind === "regression") {
    return [
      tile("excess_error_constant", "Error × n", "Excess error after n rounds, times n"),
      tile("limit", "Left in the end", "Error that no number of rounds removes"),
      mixing,
    ];
  }
  const rounds = best(roundsOf(state));
  return [
    tile("rate", "Rate K", state.view?.kind === "faulty"
      ? "Learning rate in spite of those who are faulty, nats a round; below zero the honest are led astray"
      : "Learning rate, nats a round: how fast the typical run rejects wrong hypotheses"),
    tile("error_exponent", "Exponent E", "Error exponent, nats a round: how fast bad runs become rare"),
    tile("samples", "Rounds", "Rounds after which an error is as rare as asked for",
      { value: rounds?.upper, kind: rounds?.kind }, rounds ? roundsText(rounds) : "–"),
    mixing,
  ];
}
