// What follows by itself when the hand rests: the whole sample ladder, then certified intervals.
// The next edit cancels it.

import { Cancelled, Gone, Refusal } from "./source.js";

const rest = 600; // milliseconds without an edit

export class Certifier {
  #app;
  #timer = null;
  #stop = null;

  constructor(app) {
    this.#app = app;
    app.state.on("document", () => this.#again());
    app.state.on("busy", (busy) => (busy ? this.#halt() : this.#again()));
    app.state.on("settings", (changed) => {
      if ("delta" in changed) {
        app.state.certifiedIs(null);
        this.#again();
      }
    });
    app.source.addEventListener("back", () => this.#again());
  }

  #halt() {
    clearTimeout(this.#timer);
    this.#stop?.abort();
    this.#stop = null;
  }

  #again() {
    this.#halt();
    if (this.#app.state.certified?.status === "done") return;
    this.#timer = setTimeout(() => this.#follow(), rest);
  }

  async #follow() {
    const { state, source } = this.#app;
    if (!state.document) return;
    const stop = new AbortController();
    this.#stop = stop;
    const sized = state.view.kind === "finite" || state.view.kind === "changing"; // the others have no sample sizes
    const request = { document: state.document, delta: sized ? state.settings.delta : null };
    const told = { status: "running", progress: null, ladder: null, result: null, line: null };
    const tell = (more) => {
      if (!stop.signal.aborted) state.certifiedIs(Object.assign(told, more));
    };
    const options = { signal: stop.signal, onProgress: ({ progress, what }) => tell({ progress, what }) };
    tell({});
    try {
      tell({ ladder: await source.analyse(request, options) });
      if (state.view.kind === "finite") tell({ result: await source.certify(request, options) });
      tell({ status: "done", progress: null });
    } catch (problem) {
      if (problem instanceof Refusal) tell({ status: "refused", line: problem.message });
      else if (problem instanceof Gone) tell({ status: "refused", line: "the server does not answer" });
      else if (!(problem instanceof Cancelled)) throw problem;
    }
  }
}
