// Form fields that send edits. A field that the problem does not allow says why.

import { el } from "./dom.js";

let drag = null; // {key, gesture}: the slider under the hand
let touches = 0; // of all sliders; a slider is held until what was sent is answered

/** A slider with its number beside it: dragging sends edits as it goes, typing sends one. */
export function slider(
  app,
  key,
  label,
  { value, minimum = 0, maximum = 1, step = 0.01, edits, why = null, quiet = false },
) {
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
  return el(
    "div",
    { class: quiet ? "field slider quiet-field" : "field slider", "data-key": key },
    el("label", { for: `${key}-slider` }, label),
    el("input", {
      type: "range",
      id: `${key}-slider`,
      min: minimum,
      max: maximum,
      step,
      value: shown,
      disabled: Boolean(why),
      oninput: moved,
      onchange: rested,
      onpointercancel: rested,
      "aria-describedby": why ? `${key}-why` : null,
    }),
    el("input", {
      type: "number",
      class: "exact",
      min: minimum,
      max: maximum,
      step: "any",
      value: tidy(shown),
      disabled: Boolean(why),
      "aria-label": `${label}, as a number`,
      onchange: (event) => {
        const typed = event.target.valueAsNumber;
        if (Number.isFinite(typed) && typed !== tidy(shown))
          app.state.edit(edits(typed)).then((done) => {
            if (!done) event.target.value = tidy(shown);
          });
      },
    }),
    why ? reason(`${key}-why`, why) : null,
  );
}

/** What a slider's number shows; the problem keeps every digit. */
const tidy = (value) => Number(value.toPrecision(6));

export function choice(key, label, options, value, chosen, why = null) {
  return el(
    "div",
    { class: "field", "data-key": key },
    el("label", { for: key }, label),
    el(
      "select",
      {
        id: key,
        disabled: Boolean(why),
        value,
        onchange: (event) => chosen(event.target.value),
        "aria-describedby": why ? `${key}-why` : null,
      },
      options.map(([name, text]) =>
        el("option", { value: name, selected: String(name) === String(value) }, text),
      ),
    ),
    why ? reason(`${key}-why`, why) : null,
  );
}

export function text(key, label, value, typed, { why = null, type = "text", ...rest } = {}) {
  return el(
    "div",
    { class: "field", "data-key": key },
    el("label", { for: key }, label),
    el("input", {
      type,
      id: key,
      value: value ?? "",
      disabled: Boolean(why),
      autocomplete: "off",
      spellcheck: "false",
      "aria-describedby": why ? `${key}-why` : null,
      onchange: (event) => typed(event.target.value),
      ...rest,
    }),
    why ? reason(`${key}-why`, why) : null,
  );
}

export function tick(key, label, checked, ticked, why = null) {
  return el(
    "div",
    { class: "field tick", "data-key": key },
    el("input", {
      type: "checkbox",
      id: key,
      checked,
      disabled: Boolean(why),
      onchange: (event) => ticked(event.target.checked),
      "aria-describedby": why ? `${key}-why` : null,
    }),
    el("label", { for: key }, label),
    why ? reason(`${key}-why`, why) : null,
  );
}

/** A button; `why` disables it and says why. */
export function button(
  label,
  onclick,
  { key = label, why = null, kind = "", icon = null, name = null } = {},
) {
  return el(
    "button",
    {
      type: "button",
      class: `button ${kind}`,
      "data-key": key,
      "aria-disabled": why ? "true" : null,
      title: why ?? name,
      "aria-label": name,
      onclick: why ? null : onclick,
    },
    icon,
    label,
  );
}

export const reason = (id, line) => el("p", { class: "why", id }, line);

/** Why the view does not allow an edit of this kind, or null. */
export function whyNot(view, kind) {
  const can = view.can?.[kind];
  return can === undefined || can === true ? null : String(can);
}

const folds = new Map(); // which parts the reader has opened or closed

/** A part that opens and closes; what is in it is made only while it is open. */
export function fold(app, key, summary, { open, look = null, className = null }, fill) {
  const shown = folds.get(key) ?? open;
  const toggled = (event) => {
    if ((folds.get(key) ?? open) === event.target.open) return;
    folds.set(key, event.target.open);
    app.state.tell("fold");
  };
  return el(
    "details",
    { class: className, open: shown, "data-key": key, "data-look": look, ontoggle: toggled },
    el("summary", {}, summary),
    shown ? fill() : null,
  );
}
