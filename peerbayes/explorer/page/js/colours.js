// Colours of the page's style sheet, for canvases, which cannot read its variables.

const names = ["ink", "soft", "line", "paper", "raised", "accent", "good", "bad", "evidence", "edge"];
let read = null;

/** {ink, soft, …, hypotheses: [eight]} of the theme that is shown. */
export function colours() {
  if (read) return read;
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  read = Object.fromEntries(names.map((name) => [name, of(name)]));
  read.hypotheses = Array.from({ length: 8 }, (_, k) => of(`hypothesis-${k}`));
  return read;
}

export function forgetColours() {
  read = null;
}

/** Red, green and blue of "#rrggbb". */
export const parts = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));

/** A colour between two "#rrggbb", share 0 to 1 of the second. */
export function between(first, second, share) {
  const [a, b] = [parts(first), parts(second)];
  const hex = (x, i) => Math.round(x + (b[i] - x) * share).toString(16).padStart(2, "0");
  return `#${a.map(hex).join("")}`;
}
