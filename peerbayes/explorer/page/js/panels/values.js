// The numbers of a state by name: {value, kind}. Quick ones first; what only the whole analysis has
// (the exponent of a network that changes at random) when that has come.

/** rate, error_exponent, slem, and for some problems faultless, excess_error_constant, limit. */
export function valuesOf({ numbers, certified }) {
  const { learning, network, regression, kinds = {} } = numbers ?? {};
  const quick = (part, key) => ({ value: part?.[key] ?? null, kind: kinds[key] ?? "float" });
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
