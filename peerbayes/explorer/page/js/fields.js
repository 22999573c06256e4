// Form fields that send edits. A field that the problem does not allow says why.

import { el } from "./dom.js";

let drag = null; // {key, gesture}: the slider under the hand
let touches = 0; // of all sliders; a slider is held until what was sent is answered

/** Why the view does not allow an edit of this kind, or null. */
export function whyNot(view, kind) {
  const can = view.can?.[kind];
  return can === undefined || can === true ? null : String(can);
}

/** How a field sends edits of a kind: `keys` makes those of an edit from what is put into it. */
export function sends(state, kind, keys) {
  const edits = (value) => [{ kind, ...keys(value) }];
  return { edits, typed: (value) => state.edit(edits(value)), why: whyNot(state.view, kind) };
}

export const reason = (id, line) => el("p", { class: "why", id }, line);

/** What is common to all inputs: a field that is not allowed is described by the reason. */
const held = (key, why) => ({ disabled: Boolean(why), "aria-describedby": why ? `${key}-why` : null });

/** A label, what stands beside it, and why it cannot be changed. */
export function field(key, label, controls, { why = null, id = key, kind = "" } = {}) {
  return el("div", { class: `field ${kind}`.trim(), "data-key": key },
    el("label", { for: id }, label), controls, why ? reason(`${key}-why`, why) : null);
}

/** A slider with its number beside it: dragging sends edits as it goes, typing sends one. */
export function slider(app, key, label, value, { edits, why = null }, { minimum = 0, maximum = 1, step = 0.01, quiet = false } = {}) {
  const shown = Number(value);
  const moved = (event) => {
    event.target.dataset.held = ++touches;
    if (drag?.key !== key) {
      drag?.gesture.end();
      drag = { key, gesture: app.state.gesture() };
    }
    drag.gesture.try(edits(Number(event.target.value)));
  };
  const rested = async ({ target }) => {
    const last = touches;
    const gesture = drag?.gesture;
    drag = null;
    await gesture?.end();
    await app.state.settled();
    if (touches !== last) return;
    delete target.dataset.held;
    app.state.tell("fold"); // draws the fields again as the problem has them
  };
  const typed = async ({ target }) => {
    const number = target.valueAsNumber;
    if (!Number.isFinite(number) || number === tidy(shown)) return;
    if (!(await app.state.edit(edits(number)))) target.value = tidy(shown);
  };
  const id = `${key}-slider`;
  const ends = { min: minimum, max: maximum };
  return field(key, label, [
    el("input", { type: "range", id, ...ends, step, value: shown, oninput: moved, onchange: rested, onpointercancel: rested, ...held(key, why) }),
    el("input", { type: "number", class: "exact", ...ends, step: "any", value: tidy(shown), disabled: Boolean(why), "aria-label": `${label}, as a number`, onchange: typed }),
  ], { why, id, kind: quiet ? "slider quiet-field" : "slider" });
}

/** What a slider's number shows; the problem keeps every digit. */
const tidy = (value) => Number(value.toPrecision(6));

/** One of some options, each a value and its text. */
export function choice(key, label, options, value, { typed, why = null }) {
  const shown = options.map(([name, text]) => el("option", { value: name, selected: String(name) === String(value) }, text));
  const select = el("select", { id: key, value, onchange: (event) => typed(event.target.value), ...held(key, why) }, shown);
  return field(key, label, select, { why });
}

export function text(key, label, value, { typed, why = null }, more = {}) {
  const onchange = (event) => typed(event.target.value);
  return field(key, label, el("input", { type: "text", id: key, value: value ?? "", autocomplete: "off", spellcheck: "false", onchange, ...held(key, why), ...more }), { why });
}

export function tick(key, label, checked, { typed, why = null }) {
  return el("div", { class: "field tick", "data-key": key },
    el("input", { type: "checkbox", id: key, checked, onchange: (event) => typed(event.target.checked), ...held(key, why) }),
    el("label", { for: key }, label), why ? reason(`${key}-why`, why) : null);
}

/** A button; `why` disables it and says why. */
export function button(label, onclick, { key = label, why = null, kind = "", icon = null, name = null, ...more } = {}, ...after) {
  return el("button", {
    type: "button", class: `button ${kind}`, "data-key": key, "aria-disabled": why ? "true" : null,
    title: why ?? name, "aria-label": name, onclick: why ? null : onclick, ...more,
  }, icon, label, after);
}

/** A part that opens and closes. */
export function part(key, summary, { open = true, look = null, className = null, ...more }, ...children) {
  return el("details", { class: className, open, "data-key": key, "data-look": look, ...more }, el("summary", {}, summary), children);
}

const folds = new Map(); // which parts the reader has opened or closed

/** A part of which what is in it is made only while it is open. */
export function fold(app, key, summary, { open, ...more }, fill) {
  const shown = folds.get(key) ?? open;
  const ontoggle = (event) => {
    if ((folds.get(key) ?? open) === event.target.open) return;
    folds.set(key, event.target.open);
    app.state.tell("fold");
  };
  return part(key, summary, { ...more, open: shown, ontoggle }, shown ? fill() : null);
}
