// What is drawn over the graph on canvases of its own: rings of self-weight and marks, and below
// them beliefs as pies, which alone are drawn anew in every frame of a run.

import { colours } from "./colours.js";
import { el } from "./dom.js";
import { fewAgents, manyAgents } from "./looks.js";
import { Pies } from "./pies.js";

const turn = 2 * Math.PI;

/** A text with as many of its letters as there is room for. */
function shortened(pen, text, room) {
  if (pen.measureText(text).width <= room) return text;
  let length = text.length - 1;
  while (length > 1 && pen.measureText(`${text.slice(0, length)}…`).width > room) length -= 1;
  return `${text.slice(0, length)}…`;
}

export class Overlay {
  #canvas = el("canvas", { class: "overlay", "aria-hidden": "true" });
  #lower = el("canvas", { class: "overlay", "aria-hidden": "true" });
  #pies = new Pies(this.#lower);
  #cy;
  #beliefs = null;
  #marks = { links: [], agents: [] };
  #rubber = null;
  #asked = false;
  #still = false;
  #turning = false;
  #places = [];
  #stale = true;

  constructor(cy, container) {
    this.#cy = cy;
    container.append(this.#lower, this.#canvas);
    cy.on("render", () => {
      this.#stale = true;
      this.ask();
    });
  }

  beliefs(rows) {
    if (Boolean(rows) !== Boolean(this.#beliefs)) this.ask(); // names give way to pies
    this.#beliefs = rows;
    this.#turning = true;
    this.#next();
  }

  marks(marks) {
    this.#marks = { links: marks?.links ?? [], agents: marks?.agents ?? [] };
    this.ask();
  }

  /** The line being drawn with a tool: two points of the graph, or null. */
  rubber(line) {
    this.#rubber = line;
    this.ask();
  }

  /** Draws all once before the next frame, however often it is asked. */
  ask() {
    this.#still = true;
    this.#turning = true;
    this.#next();
  }

  #next() {
    if (this.#asked) return;
    this.#asked = true;
    requestAnimationFrame(() => {
      this.#asked = false;
      this.#measure();
      if (this.#turning) this.#pies.draw(this.#places, this.#beliefs, this.#cy.width(), this.#cy.height());
      if (this.#still) this.#draw();
      this.#turning = this.#still = false;
    });
  }

  #measure() {
    if (!this.#stale) return;
    this.#stale = false;
    const zoom = this.#cy.zoom();
    const pan = this.#cy.pan();
    this.#places = this.#cy
      .nodes()
      .toArray()
      .map((node) => {
        const { x, y } = node.position();
        return {
          agent: node.data("agent"),
          x: x * zoom + pan.x,
          y: y * zoom + pan.y,
          r: (node.data("size") / 2) * zoom,
          self: node.data("self"),
          name: node.data("name"),
          chosen: node.hasClass("chosen") || node.hasClass("target"),
        };
      })
      .sort((a, b) => a.agent - b.agent);
  }

  #draw() {
    const canvas = this.#canvas;
    const ratio = this.#places.length > 200 ? 1 : Math.min(2, devicePixelRatio || 1);
    const [width, height] = [this.#cy.width(), this.#cy.height()];
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    this.#rings(pen);
    this.#names(pen);
    this.#marked(pen);
    if (this.#rubber) this.#stretched(pen);
  }

  #stretched(pen) {
    const zoom = this.#cy.zoom();
    const pan = this.#cy.pan();
    const [a, b] = this.#rubber.map(({ x, y }) => [x * zoom + pan.x, y * zoom + pan.y]);
    pen.strokeStyle = colours().accent;
    pen.lineWidth = 2.5;
    pen.setLineDash([7, 5]);
    pen.beginPath();
    pen.moveTo(...a);
    pen.lineTo(...b);
    pen.stroke();
    pen.setLineDash([]);
  }

  /** A ring around each agent, as far round as it trusts itself. */
  #rings(pen) {
    const { accent, line } = colours();
    const zoom = Math.max(0.4, Math.min(1.5, this.#cy.zoom()));
    pen.lineWidth = 3 * zoom;
    pen.strokeStyle = line;
    pen.beginPath();
    for (const { x, y, r } of this.#places) {
      pen.moveTo(x + r + 4 * zoom, y);
      pen.arc(x, y, r + 4 * zoom, 0, turn);
    }
    pen.globalAlpha = 0.5;
    pen.stroke();
    pen.globalAlpha = 1;
    pen.strokeStyle = accent;
    pen.beginPath();
    for (const { x, y, r, self } of this.#places) {
      if (self <= 0) continue;
      pen.moveTo(x, y - r - 4 * zoom);
      pen.arc(x, y, r + 4 * zoom, -turn / 4, -turn / 4 + turn * Math.min(self, 0.9999));
    }
    pen.stroke();
  }

  /** Names: short ones on the agents, long ones (and all during a run) below them; of many agents that of the chosen. */
  #names(pen) {
    const { ink, paper } = colours();
    const room = Math.max(60, 120 * this.#cy.zoom());
    pen.font = "13px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.lineJoin = "round";
    pen.lineWidth = 4;
    for (const { x, y, r, name, chosen } of this.#places) {
      if (!chosen && (this.#places.length > manyAgents || (r < 9 && this.#places.length > fewAgents))) continue;
      const text = chosen ? name : shortened(pen, name, room);
      pen.fillStyle = ink;
      if (!this.#beliefs && pen.measureText(text).width < 1.5 * r) {
        pen.fillText(text, x, y + 1);
        continue;
      }
      pen.strokeStyle = paper;
      pen.strokeText(text, x, y + r + 18);
      pen.fillText(text, x, y + r + 18);
    }
  }

  #marked(pen) {
    const { agents, links } = this.#marks;
    if (!agents.length && !links.length) return;
    const { ink, paper, accent, good, bad } = colours();
    const by = new Map(this.#places.map((place) => [place.agent, place]));
    const tone = (word) =>
      ({ gained: good, lost: bad, dear: bad, "not ours": bad, forbidden: bad })[word] ?? accent;
    pen.font = "600 12px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    const label = (text, x, y, colour) => {
      pen.lineWidth = 4;
      pen.strokeStyle = paper;
      pen.strokeText(text, x, y);
      pen.fillStyle = colour;
      pen.fillText(text, x, y);
    };
    for (const [i, j, word] of links) {
      const [a, b] = [by.get(j), by.get(i)];
      if (!a || !b) continue;
      pen.strokeStyle = tone(word);
      pen.lineWidth = 3;
      pen.setLineDash(word === "lost" || word === "forbidden" ? [6, 5] : []);
      pen.beginPath();
      pen.moveTo(a.x, a.y);
      pen.lineTo(b.x, b.y);
      pen.stroke();
      pen.setLineDash([]);
      const both = links.some(([k, l, other]) => k === j && l === i && other === word);
      if (both && i < j) continue; // one line and one word for the two directions
      const share = both ? 1 / 2 : 2 / 3;
      label(word, a.x + share * (b.x - a.x), a.y + share * (b.y - a.y), tone(word));
    }
    for (const [i, word] of agents) {
      const place = by.get(i);
      if (place) label(word, place.x, place.y - place.r - 14, tone(word) ?? ink);
    }
  }
}
