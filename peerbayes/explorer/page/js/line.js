// The one line under the bar: what was refused, what was done, and that the server is gone.

import { el, patch } from "./dom.js";
import { button } from "./fields.js";

const stays = 6000; // milliseconds that a notice stays

export function mountLine(element, { state, source }) {
  let timer = null;
  const show = () => {
    const { line } = state;
    const lost = "The server does not answer. Your work is kept here, and it is tried again; you can save as JSON.";
    const small = (label, act, key) => button(label, act, { key, kind: "small" });
    patch(element,
      source.gone ? el("p", { class: "line line-gone", "data-key": "gone" }, lost) : null,
      line ? el("p", { class: `line line-${line.kind}`, "data-key": "line" }, line.line,
        line.action ? small(...line.action, "action") : null,
        small("Dismiss", () => state.say(null), "dismiss")) : null);
  };
  state.on("line", (line) => {
    clearTimeout(timer);
    if (line && line.kind !== "refusal" && !line.action) timer = setTimeout(() => state.say(null), stays);
    show();
  });
  source.addEventListener("gone", show);
  source.addEventListener("back", () => {
    show();
    state.say("The server is back.", "done");
  });
  addEventListener("unhandledrejection", (event) =>
    state.say(String(event.reason?.message ?? event.reason), "refusal"),
  );
}
