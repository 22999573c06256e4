// Edits by name, as mouse, keys, panels and touch send them alike. Agents by index; i listens to j.

import { spread } from "./state.js";

export class Actions {
  #app;

  constructor(app) {
    this.#app = app;
  }

  get #state() {
    return this.#app.state;
  }

  /** Adds an agent that talks with `beside` (or with the selected one, or the nearest), and selects it. */
  async addAgent({ place = null, beside = null } = {}) {
    const state = this.#state;
    const near = beside ?? state.selection.agent ?? this.#nearest(place ?? [0, 0]);
    const links = near === null ? [] : [near];
    const where = place ?? (near === null ? null : this.#free(state.positions[near]));
    if (
      await state.edit([{ kind: "add-agent", evidence_of: null, listens_to: links, heard_by: links }], {
        place: where,
      })
    ) {
      state.select({ agent: state.view.agents.length - 1 });
      return true;
    }
    return false;
  }

  removeAgent(agent) {
    return this.#state.edit([{ kind: "remove-agent", agent }]);
  }

  link(i, j, both) {
    return this.#state.edit([{ kind: "add-link", from: i, to: j, both }]);
  }

  cut(i, j, both) {
    const back = this.weight(j, i) > 0;
    return this.#state.edit([{ kind: "remove-link", from: i, to: j, both: both && back }]);
  }

  copyEvidence(from, to) {
    return this.#state.edit([{ kind: "set-evidence", agent: to, of: from }]);
  }

  swapEvidence(a, b) {
    return this.#state.edit([{ kind: "swap-evidence", a, b }]);
  }

  /** Puts the agents where a new page would put them. */
  tidy() {
    const { state, graph } = this.#app;
    state.place(spread(state.view.layout));
    graph.fit();
  }

  /** Removes what is selected. */
  removeSelected() {
    const { agent, link } = this.#state.selection;
    if (agent !== undefined) return this.removeAgent(agent);
    if (link) return this.cut(...link, false);
    return Promise.resolve(false);
  }

  /** One step up or down of a weight: of the selected link, or of the selected agent on itself. */
  nudge(step) {
    const { agent, link } = this.#state.selection;
    const [i, j] = link ?? [agent, agent];
    if (i === undefined) return Promise.resolve(false);
    const value = Math.round(Math.min(1, Math.max(0, this.weight(i, j) + step)) * 1e6) / 1e6;
    return this.#state.edit([
      link ? { kind: "set-weight", from: i, to: j, value } : { kind: "set-self-weight", agent: i, value },
    ]);
  }

  weight(i, j) {
    return this.#state.view.weights.find(([a, b]) => a === i && b === j)?.[2] ?? 0;
  }

  #nearest(place) {
    const far = this.#state.positions.map(([x, y]) => Math.hypot(x - place[0], y - place[1]));
    return far.length ? far.indexOf(Math.min(...far)) : null;
  }

  /** A place beside another, away from the middle and from everybody. */
  #free([x, y]) {
    const taken = this.#state.positions;
    const middle = [0, 1].map((k) => taken.reduce((sum, place) => sum + place[k], 0) / taken.length);
    const out = Math.atan2(y - middle[1], x - middle[0]);
    const gap = 0.9;
    for (let turn = 0; turn < 24; turn += 1) {
      const angle = out + (turn % 2 ? 1 : -1) * Math.ceil(turn / 2) * 0.5;
      const far = gap * (1 + Math.floor(turn / 8) * 0.5);
      const place = [x + far * Math.cos(angle), y + far * Math.sin(angle)];
      if (taken.every(([a, b]) => Math.hypot(a - place[0], b - place[1]) > 0.7 * gap)) return place;
    }
    return [x + gap, y];
  }
}
