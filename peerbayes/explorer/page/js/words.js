// Numbers as text, and the words for what a number is.

/** Four significant digits, as the command line shows them; a dash for none. */
export function number(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (!Number.isFinite(value)) return value > 0 ? "∞" : value < 0 ? "−∞" : "–";
  const text = Number(value.toPrecision(digits));
  const small = text !== 0 && (Math.abs(text) < 1e-4 || Math.abs(text) >= 1e6);
  const plain = small ? text.toExponential().replace("e+", "e") : String(text);
  return plain.replace("-", "−");
}

/** A whole number with thin gaps between thousands. */
export function count(value) {
  if (value === null || value === undefined) return "–";
  return String(value).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** Both ends of an interval with as many digits as tell them apart, ten at most. */
export function interval([lower, upper]) {
  if (lower === upper) return number(lower, 10);
  for (let digits = 4; digits <= 10; digits += 1) {
    if (number(lower, digits) !== number(upper, digits))
      return `${number(lower, digits)} to ${number(upper, digits)}`;
  }
  return number((lower + upper) / 2, 10);
}

export const kinds = {
  exact: "exact: no rounding",
  certified: "certified: proved to contain the truth",
  float: "float: right up to rounding",
  "upper bound": "upper bound: the truth is at most this",
  "lower bound": "lower bound: the truth is at least this",
  estimate: "estimate: measured, or right in the limit",
  "not a theorem": "printed in a paper, not a theorem",
};

/** What share of a whole, in words for those who hear the page. */
export const share = (value) => `${number(100 * value, 3)} %`;

export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

/** The colour of hypothesis k, as a CSS colour; eight that are told apart in light and dark. */
export const hue = (k) => `var(--hypothesis-${((k % 8) + 8) % 8})`;

/** The share of each agent in what the network believes: v, or the influence where the network changes. */
export const influence = (numbers) =>
  numbers?.network?.influence ?? numbers?.network?.stationary_distribution ?? null;
