// The parameters that a problem offers, each as the field that fits it.

import { choice, slider, text, whyNot } from "../fields.js";

/** Fields of the controls of one table: "network", "changes", "faults", "messages", "learning". */
export function controlsOf(app, table) {
  return (app.state.view.controls ?? [])
    .filter(({ key }) => tableOf(key) === table)
    .map((control) => field(app, control));
}

const tableOf = (key) => (key.includes(".") ? key.split(".").at(-2) : "network");

function field(app, { edit = "set-parameter", key, label, value, minimum, maximum, step, choices }) {
  const { state } = app;
  const edits = (typed) => [{ kind: edit, key, value: typed }];
  const why = whyNot(state.view, edit);
  const id = `control-${key.replaceAll(".", "-")}`;
  if (choices) {
    return choice(
      id,
      label,
      choices.map((one) => [String(one), String(one)]),
      String(value),
      (typed) => state.edit(edits(choices.find((one) => String(one) === typed))),
      why,
    );
  }
  if (Array.isArray(value)) {
    return text(
      id,
      label,
      value.join(" × "),
      (typed) =>
        state.edit(
          edits(
            typed
              .split(/[^0-9.]+/)
              .filter(Boolean)
              .map(Number),
          ),
        ),
      { why },
    );
  }
  const shown = toNumber(value);
  if (!Number.isFinite(shown)) return text(id, label, value, (typed) => state.edit(edits(typed)), { why });
  return slider(app, id, label, {
    value: shown,
    minimum: minimum ?? 0,
    maximum: reach(shown, maximum),
    step: step ?? 0.01,
    edits,
    why,
  });
}

/** Where the slider ends: of sizes not too far off, so that the hand has a choice; typing reaches farther. */
function reach(shown, maximum) {
  if (maximum === null || maximum === undefined) return Math.max(1, 2 * shown);
  return maximum > 100 ? Math.min(maximum, shown <= 20 ? 40 : shown <= 100 ? 200 : maximum) : maximum;
}

/** A number, also of a text such as "9/10". */
export function toNumber(value) {
  if (typeof value === "number") return value;
  const [above, below = 1] = String(value ?? "")
    .split("/")
    .map(Number);
  return above / below;
}
