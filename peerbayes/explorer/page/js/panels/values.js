// The numbers of a state by name, how many rounds are enough, and the badge that says what a number is.

import { el } from "../dom.js";
import { count, kinds } from "../words.js";

/**
 * {value, kind} of rate, error_exponent, slem, and for some problems faultless, excess_error_constant,
 * limit. Quick ones first; what only the whole analysis has (the exponent of a network that changes at
 * random) when that has come.
 */
export function valuesOf({ numbers, certified }) {
  const { learning, network, regression, kinds: of = {} } = numbers ?? {};
  const quick = (part, key) => ({ value: part?.[key] ?? null, kind: of[key] ?? "float" });
  const values = {
    rate: quick(learning, "rate"),
    error_exponent: quick(learning, "error_exponent"),
    slem: quick(network, "slem"),
    excess_error_constant: quick(regression, "excess_error_constant"),
    limit: quick(regression, "limit"),
    faultless: quick(learning, "faultless_rate"),
  };
  const exponent = certified?.ladder?.learning?.error_exponent;
  if (values.error_exponent.value === null && typeof exponent === "number")
    values.error_exponent = { value: exponent, kind: "estimate" };
  return values;
}

/** The sample ladder: from the published formula to the proved interval. */
const steps = [
  ["printed", "printed in the paper", "not a theorem"],
  ["printed_p2", "printed in P2", "not a theorem"],
  ["repaired", "repaired (Hoeffding)", "upper bound"],
  ["chernoff", "Chernoff", "upper bound"],
  ["certified", "proved, both ends", "certified"],
];

/** Rows {name, label, kind, lower, upper} of the ladder; lower is null where there is one number. */
export function roundsOf({ numbers, certified }) {
  const quick = numbers?.samples ?? {};
  const whole = certified?.result?.samples ?? certified?.ladder?.samples ?? {};
  return steps.flatMap(([name, label, kind]) => {
    const value = whole[name] ?? quick[name];
    if (value === null || value === undefined) return [];
    const { lower = value[0] ?? null, upper = value[1] ?? value } = value;
    return [{ name, label, kind, lower: lower === upper ? null : lower, upper }];
  });
}

/** The sharpest that is proved. */
export const best = (rows) => rows.filter((row) => row.kind !== "not a theorem").at(-1) ?? null;

export const roundsText = ({ lower, upper }) => (lower === null ? count(upper) : `${count(lower)} to ${count(upper)}`);

const short = {
  exact: "exact",
  certified: "proved",
  float: "float",
  "upper bound": "≤",
  "lower bound": "≥",
  estimate: "≈",
  "not a theorem": "not proved",
};

/** A short word, which is spelled out for those who ask or listen. */
export function badge(kind) {
  if (!kind) return null;
  const words = kinds[kind] ?? kind;
  return el("span", { class: `badge badge-${kind.replaceAll(" ", "-")}`, title: words },
    el("span", { "aria-hidden": "true" }, short[kind] ?? kind),
    el("span", { class: "heard" }, ` (${words})`));
}
