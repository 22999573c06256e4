// Plays the rounds of a run: a place in time that moves by itself, by steps or by hand.

import { calm, el, patch } from "./dom.js";
import { button } from "./fields.js";
import { count } from "./words.js";

const speeds = [[2, "slow"], [10, "normal"], [40, "quick"], [160, "very quick"]];

export class Player {
  #rounds;
  #shown;
  #at = 0; // an index of rounds, between two of them while it plays
  #speed = 10; // rounds a second
  #frame = null;
  #before = 0;
  #element = el("div", { class: "player", role: "group", "aria-label": "Rounds of the run" });

  /** `shown(index, share)`: index of a recorded round, and how far on the way to the next. */
  constructor(rounds, shown) {
    this.#rounds = rounds;
    this.#shown = shown;
    this.#speed = Math.max(2, Math.min(160, speeds.map(([pace]) => pace).find((pace) => pace >= rounds.at(-1) / 12) ?? 160));
    this.#bar();
  }

  get element() { return this.#element; }
  get playing() { return this.#frame !== null; }
  get round() { return this.#rounds[Math.floor(this.#at)]; }

  play() {
    if (this.playing) return;
    if (this.#at >= this.#rounds.length - 1) this.#at = 0;
    this.#before = performance.now();
    this.#frame = requestAnimationFrame((now) => this.#tick(now));
    this.#bar();
  }

  pause() { this.#jump(Math.floor(this.#at)); }

  go(index) {
    this.#at = Math.max(0, Math.min(this.#rounds.length - 1, index));
    this.#tell();
    this.#bar();
  }

  #tick(now) {
    const spacing = this.#rounds.length > 1 ? (this.#rounds.at(-1) - this.#rounds[0]) / (this.#rounds.length - 1) : 1;
    if (calm()) { // little motion: whole rounds, four times a second
      if (now - this.#before < 250) { this.#frame = requestAnimationFrame((then) => this.#tick(then)); return; }
      this.#at = Math.floor(this.#at) + Math.max(1, Math.round(0.25 * this.#speed / spacing));
    } else {
      this.#at += (Math.max(0, Math.min(100, now - this.#before)) / 1000) * (this.#speed / spacing);
    }
    this.#before = now;
    if (this.#at >= this.#rounds.length - 1) {
      this.#at = this.#rounds.length - 1;
      this.pause();
      return;
    }
    this.#tell();
    this.#slide();
    this.#frame = requestAnimationFrame((then) => this.#tick(then));
  }

  #tell() {
    const index = Math.floor(this.#at);
    this.#shown(index, calm() ? 0 : this.#at - index);
  }

  #slide() {
    const slider = this.#element.querySelector("input[type=range]");
    slider.value = Math.floor(this.#at);
    slider.setAttribute("aria-valuetext", `round ${this.round}`);
    const text = `${count(this.round)} of ${count(this.#rounds.at(-1))}`;
    const label = this.#element.querySelector(".player-round");
    if (label.textContent !== text) label.textContent = text;
  }

  #bar() {
    const last = this.#rounds.length - 1;
    patch(this.#element,
      el("div", { class: "row" },
        button(this.playing ? "Pause" : "Play", () => (this.playing ? this.pause() : this.play()), { key: "play", kind: "primary" }),
        button("◂", () => this.#step(-1), { key: "back", kind: "icon-only", name: "One round back" }),
        button("▸", () => this.#step(1), { key: "on", kind: "icon-only", name: "One round on" }),
        el("label", { class: "quiet", for: "player-speed" }, "Speed"),
        el("select", { id: "player-speed", class: "speed", value: this.#speed, onchange: (event) => { this.#speed = Number(event.target.value); } },
          speeds.map(([pace, name]) => el("option", { value: pace, selected: pace === this.#speed }, name)))),
      el("div", { class: "row" },
        el("input", { type: "range", min: 0, max: last, step: 1, value: Math.floor(this.#at), "aria-label": "Round", "aria-valuetext": `round ${this.round}`, class: "scrub", oninput: (event) => this.#jump(Number(event.target.value)) }),
        el("span", { class: "player-round number" }, `${count(this.round)} of ${count(this.#rounds.at(-1))}`)));
  }

  #step(by) { this.#jump(Math.floor(this.#at) + by); }

  #jump(index) {
    cancelAnimationFrame(this.#frame);
    this.#frame = null;
    this.go(index);
  }
}
