// On a narrow screen the panels are a sheet over the graph: low, half, or whole.

import { el, patch } from "./dom.js";

const heights = ["low", "half", "whole"];

export class Sheet {
  #side;
  #grip;
  #start = null;

  constructor(side, grip) {
    this.#side = side;
    this.#grip = grip;
    this.set("half");
    grip.addEventListener("pointerdown", (event) => {
      this.#start = event.clientY;
      grip.setPointerCapture(event.pointerId);
    });
    grip.addEventListener("pointerup", (event) => this.#let(event.clientY));
    grip.addEventListener("pointercancel", () => {
      this.#start = null;
    });
  }

  get height() {
    return this.#side.dataset.height;
  }

  set(height) {
    this.#side.dataset.height = height;
    const next = heights[(heights.indexOf(height) + 1) % heights.length];
    patch(
      this.#grip,
      el("button", {
        type: "button",
        class: "grip-button",
        "aria-label": `Panels: ${height}; make them ${next}`,
        onclick: (event) => {
          if (event.detail === 0) this.set(next);
        },
      }),
    );
  }

  /** At least half of the height, so that a view that is asked for is seen. */
  rise() {
    if (this.height === "low") this.set("half");
  }

  #let(y) {
    if (this.#start === null) return;
    const moved = this.#start - y;
    this.#start = null;
    const at = heights.indexOf(this.height);
    if (Math.abs(moved) < 8) this.set(heights[(at + 1) % heights.length]);
    else this.set(heights[Math.min(2, Math.max(0, at + (moved > 0 ? 1 : -1)))]);
  }
}
