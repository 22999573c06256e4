// The four numbers that are always in sight: K, E, rounds needed, mixing; beside the pinned ones.

import { el, patch } from "../dom.js";
import { count, number } from "../words.js";
import { badge } from "./badge.js";
import { best, roundsOf } from "./ladder.js";

export function mount(container, app) {
  const { state } = app;
  const show = () => {
    if (!state.view) return;
    const now = tiles(state);
    const before = state.pinned ? tiles(state.pinned) : null;
    patch(container, now.map((tile, at) => shown(tile, before?.[at])));
  };
  for (const topic of ["document", "certified", "pinned"]) state.on(topic, show);
}

function shown({ key, name, about, value, text, kind }, before) {
  const was = before && before.key === key && before.text !== text ? before : null;
  const change = was && typeof was.value === "number" && typeof value === "number" ? (value > was.value ? "↑" : value < was.value ? "↓" : "") : "";
  return el("div", { class: "tile", "data-key": key, "data-look": key, title: about },
    el("span", { class: "tile-name" }, name),
    el("span", { class: "tile-value", "data-number": key }, text, badge(kind)),
    el("span", { class: "tile-before" }, was ? [`${change} from ${was.text}`] : "\u00a0"));
}

/** The four numbers of a state; for a regression, its error in place of the rates. */
function tiles({ numbers, view, certified }) {
  const { learning, network, regression, kinds = {} } = numbers ?? {};
  const tile = (key, name, about, value, kind, text = number(value)) => ({ key, name, about, value, kind: value === null || value === undefined ? null : kind, text });
  const mixing = tile("slem", "Modulus", "Subdominant modulus: how slowly the network forgets who said what; 0 is at once, 1 never", network?.slem, kinds.slem ?? "float");
  if (view?.kind === "regression") {
    const error = regression?.excess_error_constant;
    return [
      tile("excess_error_constant", "Error × n", "Excess error after n rounds, times n", error, kinds.excess_error_constant ?? "float"),
      tile("limit", "Left in the end", "Error that no number of rounds removes", regression?.limit, kinds.limit ?? "float"), mixing,
    ];
  }
  const ladder = roundsOf(numbers, certified);
  const rounds = best(ladder);
  return [
    tile("rate", view?.kind === "faulty" ? "K, all honest" : "Rate K", "Learning rate, nats a round: how fast the typical run rejects wrong hypotheses", learning?.rate, kinds.rate ?? "float"),
    tile("error_exponent", "Exponent E", "Error exponent, nats a round: how fast bad runs become rare", learning?.error_exponent, kinds.error_exponent ?? "float"),
    tile("samples", "Rounds", "Rounds after which an error is as rare as asked for", rounds?.upper, rounds?.kind, rounds ? (rounds.lower === null ? count(rounds.upper) : `${count(rounds.lower)} to ${count(rounds.upper)}`) : "–"),
    mixing,
  ];
}
