// The sample ladder: how many rounds are enough, from the published formula to the proved interval.

const steps = [
  ["printed", "printed in the paper", "not a theorem"],
  ["printed_p2", "printed in P2", "not a theorem"],
  ["repaired", "repaired (Hoeffding)", "upper bound"],
  ["chernoff", "Chernoff", "upper bound"],
  ["certified", "proved, both ends", "certified"],
];

/** Rows {name, label, kind, lower, upper}; lower is null where there is one number. */
export function roundsOf(numbers, certified) {
  const quick = numbers?.samples ?? {};
  const whole = certified?.result?.samples ?? certified?.ladder?.samples ?? {};
  return steps.flatMap(([name, label, kind]) => {
    const value = whole[name] ?? quick[name];
    if (value === null || value === undefined) return [];
    const [lower, upper] = Array.isArray(value) ? value : typeof value === "object" ? [value.lower, value.upper] : [null, value];
    return [{ name, label, kind, lower: lower === upper ? null : lower, upper }];
  });
}

/** The sharpest that is proved. */
export const best = (rows) => rows.filter((row) => row.kind !== "not a theorem").at(-1) ?? null;
