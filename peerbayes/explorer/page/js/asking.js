// Something long that is asked for, one at a time: how far it is, what came of it, why nothing did.

import { el, patch } from "./dom.js";
import { Cancelled, Gone, Refusal } from "./source.js";

/** Progress of something that takes long. */
export function status(what, progress) {
  const [done, total] = progress ?? [0, 0];
  return el("div", { class: "row" }, el("span", { class: "quiet" }, `${what} …`),
    el("progress", { "aria-label": what, max: total || null, value: total ? done : null }));
}

export class Asking {
  #place;
  #what;
  #verb;
  #changed;
  #stop = null;

  /** place: the element that says how it is; what, verb: "Running", "run"; changed() follows each begin and end. */
  constructor(place, what, verb, changed) {
    this.#place = place;
    this.#what = what;
    this.#verb = verb;
    this.#changed = changed;
  }

  get running() { return this.#stop !== null; }

  stop() { this.#stop?.abort(); }

  /** ask({onProgress, signal}) makes the answer that done(answer) takes, unless another is asked for. */
  async ask(ask, done) {
    this.stop();
    const stop = new AbortController();
    const tell = (...words) => { if (this.#stop === stop) patch(this.#place, ...words); };
    this.#stop = stop;
    this.#changed();
    tell(status(this.#what, null));
    try {
      const onProgress = ({ progress }) => tell(status(this.#what, progress));
      const answer = await ask({ onProgress, signal: stop.signal });
      if (this.#stop === stop) await done(answer);
    } catch (problem) {
      if (this.#stop === stop) tell(said(problem, this.#verb));
    } finally {
      if (this.#stop === stop) {
        this.#stop = null;
        this.#changed();
      }
    }
  }
}

function said(problem, verb) {
  if (problem instanceof Cancelled) return el("p", { class: "quiet" }, "Cancelled.");
  if (problem instanceof Refusal) return el("p", { class: "refusal" }, problem.message);
  if (problem instanceof Gone) return el("p", { class: "refusal" }, `The server does not answer; ${verb} again when it is back.`);
  throw problem;
}
