// From numbers to places on a chart, linear or logarithmic, and the ticks between.

import { number } from "./words.js";

/** A scale: at(value) is a place, ticks are values with their labels, least what can be shown. */
export function linear([low, high], [from, to]) {
  if (!(high > low)) [low, high] = [low - 0.5, high + 0.5];
  const step = rounded((high - low) / 4);
  const first = Math.ceil(low / step - 1e-9) * step;
  const ticks = [];
  for (let value = first; value <= high + 1e-9 * step; value += step) ticks.push([value, number(Math.abs(value) < 1e-9 * step ? 0 : value)]);
  return { at: (value) => from + ((value - low) / (high - low)) * (to - from), ticks, least: -Infinity };
}

/** The same by decades; what is not above zero stands at the lower end. */
export function logarithmic([low, high], [from, to]) {
  const bottom = Math.floor(Math.log10(low));
  const top = Math.max(bottom + 1, Math.ceil(Math.log10(high) - 1e-9));
  const every = Math.ceil((top - bottom) / 5);
  const ticks = [];
  for (let power = top; power >= bottom; power -= every) ticks.push([10 ** power, decade(power)]);
  const at = (value) => from + ((Math.log10(Math.max(value, 10 ** bottom)) - bottom) / (top - bottom)) * (to - from);
  return { at, ticks, least: Number.MIN_VALUE };
}

const raised = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const decade = (power) => (power >= -2 && power <= 3 ? String(Number((10 ** power).toPrecision(2)))
  : `10${power < 0 ? "⁻" : ""}${[...String(Math.abs(power))].map((digit) => raised[digit]).join("")}`);

/** 1, 2 or 5 times a power of ten, at least the step. */
function rounded(step) {
  const power = 10 ** Math.floor(Math.log10(step));
  return [1, 2, 5, 10].map((k) => k * power).find((k) => k >= step * (1 - 1e-9));
}
