// What the page shows: the document and what the server says of it, with undo, redo and a pin.
// The server keeps nothing; an edit goes there and comes back as a new state.
//
//   document view numbers positions      of now; positions[i] = [x, y] of agent i, in units of about the
//                                        distance between neighbours (spread() makes them of a layout)
//   certified                            null | {status: "running"|"done"|"refused", progress, result, line}
//   pinned                               null | {document, view, numbers, certified, positions}
//   selection                            {agent: i} | {link: [i, j]} (i listens to j) | {}
//   settings                             of the views: delta, seed, theme …
//   on(topic, listener) -> stop          topics: document certified pinned selection settings line look view positions busy
//   edit(edits)  gesture()  open(answer, positions)  undo()  redo()  pin()  unpin()
//   select(what) set(settings) say(line, kind) lookAt([...]) openView(name, settings)

import { Cancelled, Refusal } from "./source.js";

const memory = 200; // states that undo can return to

export class State {
  #source;
  #listeners = new Map();
  #past = [];
  #future = [];
  #tail = Promise.resolve();
  #gesture = null;
  #epoch = 0;
  #waiting = 0;

  constructor(source) {
    this.#source = source;
    this.document = null;
    this.view = null;
    this.numbers = null;
    this.positions = [];
    this.certified = null;
    this.pinned = null;
    this.selection = {};
    this.settings = { delta: 0.05, seed: 0 };
    this.line = null;
  }

  on(topic, listener) {
    if (!this.#listeners.has(topic)) this.#listeners.set(topic, new Set());
    this.#listeners.get(topic).add(listener);
    return () => this.#listeners.get(topic).delete(listener);
  }

  tell(topic, detail) {
    for (const listener of this.#listeners.get(topic) ?? []) listener(detail);
  }

  get canUndo() {
    return this.#past.length > 0;
  }
  get canRedo() {
    return this.#future.length > 0;
  }
  get busy() {
    return this.#waiting > 0;
  }

  /** All that undo returns to. */
  get snapshot() {
    return { document: this.document, view: this.view, numbers: this.numbers, positions: this.positions };
  }

  /** Shows another problem (an answer of the source). Undo returns to the one before. */
  open(answer, positions = null) {
    this.#epoch += 1;
    this.#gesture = null;
    if (this.document) this.#remember(this.snapshot);
    this.selection = {};
    this.#show({ ...answer, positions: positions ?? spread(answer.view.layout) }, "open");
    this.tell("selection", this.selection);
  }

  /** Sends edits; resolves to true when they are shown, to false when they were refused. */
  edit(edits, { place = null } = {}) {
    this.#gesture?.end();
    return this.#queued(async () => {
      const before = this.snapshot;
      const shown = await this.#applied(before, edits, place);
      if (shown) this.#remember(before);
      return shown;
    });
  }

  /**
   * A drag: try(edits) as often as the hand moves, end() when it rests. Each try is an edit of the
   * state before the drag; one request is in flight at most, the last one wins, and undo takes
   * back the whole drag.
   */
  gesture() {
    this.#gesture?.end();
    const state = this;
    let before = null;
    let wanted = null;
    let running = null;
    let moved = false;
    let over = false;
    async function follow() {
      await state.#queued(async () => {
        before ??= state.snapshot;
        while (wanted) {
          const edits = wanted;
          wanted = null;
          moved = (await state.#applied(before, edits, null)) || moved;
        }
      });
      running = null;
      if (wanted) running = follow();
    }
    const gesture = {
      try(edits) {
        if (over) return;
        wanted = edits;
        running ??= follow();
      },
      async end() {
        if (over) return;
        over = true;
        if (state.#gesture === gesture) state.#gesture = null;
        while (running) await running;
        if (moved) state.#remember(before);
      },
    };
    this.#gesture = gesture;
    return gesture;
  }

  /** Moves an agent on the page; the problem does not change. */
  move(agent, place) {
    this.positions = this.positions.map((old, i) => (i === agent ? place : old));
    this.tell("positions", agent);
  }

  /** Puts all agents anew. */
  place(positions) {
    this.positions = positions;
    this.tell("positions", null);
  }

  undo() {
    return this.#step(this.#past, this.#future);
  }
  redo() {
    return this.#step(this.#future, this.#past);
  }

  #step(from, to) {
    if (this.#source.gone) this.#epoch += 1; // what waits for the server is given up
    const step = () => {
      if (!from.length) return false;
      to.push(this.snapshot);
      this.selection = {};
      this.#show(from.pop(), "undo");
      this.tell("selection", this.selection);
      return true;
    };
    this.#gesture?.end();
    return this.#source.gone ? Promise.resolve(step()) : this.#queued(step);
  }

  /** Pins the state of now, or another one (an answer of the source). */
  pin(other = null) {
    this.pinned = other ? { ...other, certified: null } : { ...this.snapshot, certified: this.certified };
    this.tell("pinned");
  }

  unpin() {
    this.pinned = null;
    this.tell("pinned");
  }

  select(what) {
    this.selection = what ?? {};
    this.tell("selection", this.selection);
  }

  set(settings) {
    this.settings = { ...this.settings, ...settings };
    this.tell("settings", settings);
  }

  /** One line to the reader; kind is "refusal", "notice" or "done". */
  say(line, kind = "notice", action = null) {
    this.line = line ? { line, kind, action } : null;
    this.tell("line", this.line);
  }

  lookAt(names) {
    this.tell("look", names);
  }
  openView(name, settings = {}) {
    this.tell("view", { name, settings });
  }

  certifiedIs(certified) {
    this.certified = certified;
    this.tell("certified");
  }

  /** Waits until every edit sent so far is answered. */
  settled() {
    return this.#tail;
  }

  #queued(work) {
    this.#waiting += 1;
    const done = this.#tail.then(work).finally(() => {
      this.#waiting -= 1;
      this.tell("busy", this.busy);
    });
    this.#tail = done.catch(() => {});
    this.tell("busy", this.busy);
    return done;
  }

  async #applied(before, edits, place) {
    const epoch = this.#epoch;
    try {
      const answer = await this.#source.edit(before.document, edits, { delta: this.settings.delta });
      if (epoch !== this.#epoch) return false;
      if (this.line?.kind === "refusal") this.say(null);
      this.#show({ ...answer, positions: carried(before, edits, answer.view, place) }, "edit");
      return true;
    } catch (problem) {
      if (problem instanceof Refusal) this.say(problem.message, "refusal");
      else if (!(problem instanceof Cancelled)) throw problem;
      return false;
    }
  }

  #show({ document, view, numbers, positions }, how) {
    Object.assign(this, { document, view, numbers, positions, certified: null });
    if (!stands(this.selection, view)) this.select({});
    this.tell("document", how);
    this.tell("certified");
  }

  #remember(snapshot) {
    this.#past.push(snapshot);
    const room = snapshot.view.weights.length > 20000 ? 20 : memory;
    if (this.#past.length > room) this.#past.shift();
    this.#future.length = 0;
    this.tell("history");
  }
}

function stands(selection, view) {
  const size = view.agents.length;
  return (selection.agent ?? 0) < size && (selection.link ?? [0]).every((agent) => agent < size);
}

/** Positions after edits: agents keep their places, new ones come where they were put. */
export function carried(before, edits, view, place) {
  let places = [...before.positions];
  for (const edit of edits) {
    if (edit.kind === "remove-agent") places.splice(edit.agent, 1);
    if (edit.kind === "add-agent") places.push(place ?? free(places));
    if (edit.kind === "set-parameter" && edit.key !== "edge_confidence" && edit.key !== "probability")
      places = [];
  }
  return places.length === view.agents.length ? places : spread(view.layout);
}

/** Places of a layout in the unit square, spread so that their density does not depend on how many they are. */
export const spread = (layout) =>
  layout.map((place) => place.map((x) => x * Math.sqrt(Math.max(layout.length, 4))));

/** A place near the middle that no agent holds. */
function free(places) {
  const middle = [0, 1].map(
    (k) => places.reduce((sum, place) => sum + place[k], 0) / Math.max(1, places.length),
  );
  for (let turn = 0; ; turn += 1) {
    const far = 0.2 * Math.sqrt(turn);
    const place = [middle[0] + far * Math.cos(2.4 * turn), middle[1] + far * Math.sin(2.4 * turn)];
    if (places.every(([x, y]) => Math.hypot(x - place[0], y - place[1]) > 0.6)) return place;
  }
}
