// The numbers of a state by name: {value, kind}. Quick ones first; what only the whole analysis has
// (the exponent of a network that changes at random) when that has come.

/** rate, error_exponent, slem, and for some problems faultless, excess_error_constant, limit. */
export function valuesOf({ numbers, view, certified }) {
  const { learning, network, regression, faults, kinds = {} } = numbers ?? {};
  const quick = (part, key) => ({ value: part?.[key] ?? null, kind: kinds[key] ?? "float" });
  const values = {
    rate: quick(learning, "rate"), error_exponent: quick(learning, "error_exponent"), slem: quick(network, "slem"),
    excess_error_constant: quick(regression, "excess_error_constant"), limit: quick(regression, "limit"),
  };
  const exponent = certified?.ladder?.learning?.error_exponent;
  if (values.error_exponent.value === null && typeof exponent === "number") values.error_exponent = { value: exponent, kind: "estimate" };
  if (view?.kind === "faulty" && faults) {
    values.faultless = { value: least(faults.faultless_rates), kind: "float" };
    values.rate = faults.rule.startsWith("average") ? { value: least(faults.averaging?.rates), kind: "float" } : { value: least(faults.guaranteed_rates), kind: "lower bound" };
  }
  return values;
}

/** The smallest of numbers by hypothesis, or by hypothesis and agent; null if there is none. */
function least(rates) {
  const all = Object.values(rates ?? {}).flat().filter((rate) => typeof rate === "number");
  return all.length ? Math.min(...all) : null;
}
