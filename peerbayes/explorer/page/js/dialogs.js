// Dialogues: a title, what it holds, and a way out. Focus goes back to where it was.

import { el } from "./dom.js";
import { button } from "./fields.js";
import { icon } from "./icons.js";

/** Shows a dialogue; resolves when it is closed. Children may close it by `dialog.close()`. */
export function dialogue(title, fill, { wide = false } = {}) {
  const before = document.activeElement;
  const dialog = el("dialog", { class: wide ? "wide" : null, "aria-labelledby": "dialog-title" });
  const close = button("", () => dialog.close(), { key: null, kind: "icon-only", icon: icon("close"), "aria-label": "Close" });
  dialog.append(
    el("header", {}, el("h2", { id: "dialog-title" }, title), close),
    el("div", { class: "dialog-body" }, fill(dialog)));
  document.body.append(dialog);
  dialog.showModal();
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      before?.focus?.();
      resolve();
    });
  });
}
