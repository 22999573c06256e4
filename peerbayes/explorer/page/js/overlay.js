// What is drawn over the graph on canvases of its own: rings of self-weight and marks, and below
// them beliefs as pies, which alone are drawn anew in every frame of a run.

import { colours } from "./colours.js";
import { el, sized } from "./dom.js";
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

/** A line between two points {x, y}. */
function stroke(pen, a, b, colour, width, dash) {
  pen.strokeStyle = colour;
  pen.lineWidth = width;
  pen.setLineDash(dash);
  pen.beginPath();
  pen.moveTo(a.x, a.y);
  pen.lineTo(b.x, b.y);
  pen.stroke();
  pen.setLineDash([]);
}

/** A text that can be read over lines. */
function outlined(pen, text, x, y, colour) {
  pen.lineWidth = 4;
  pen.strokeStyle = colours().paper;
  pen.strokeText(text, x, y);
  pen.fillStyle = colour;
  pen.fillText(text, x, y);
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
    const place = (node) => ({
      agent: node.data("agent"),
      ...this.#seen(node.position()),
      r: (node.data("size") / 2) * zoom,
      self: node.data("self"),
      name: node.data("name"),
      chosen: node.hasClass("chosen") || node.hasClass("target"),
    });
    this.#places = this.#cy.nodes().toArray().map(place).sort((a, b) => a.agent - b.agent);
  }

  #draw() {
    const ratio = this.#places.length > 200 ? 1 : Math.min(2, devicePixelRatio || 1);
    const [width, height] = [this.#cy.width(), this.#cy.height()];
    sized(this.#canvas, width, height, ratio);
    const pen = this.#canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    this.#rings(pen);
    this.#names(pen);
    this.#marked(pen);
    if (this.#rubber) stroke(pen, ...this.#rubber.map((point) => this.#seen(point)), colours().accent, 2.5, [7, 5]);
  }

  /** A point of the graph on the canvas. */
  #seen({ x, y }) {
    const { x: left, y: top } = this.#cy.pan();
    return { x: x * this.#cy.zoom() + left, y: y * this.#cy.zoom() + top };
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
    const { ink } = colours();
    const room = Math.max(60, 120 * this.#cy.zoom());
    pen.font = "13px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.lineJoin = "round";
    for (const { x, y, r, name, chosen } of this.#places) {
      if (!chosen && (this.#places.length > manyAgents || (r < 9 && this.#places.length > fewAgents))) continue;
      const text = chosen ? name : shortened(pen, name, room);
      if (this.#beliefs || pen.measureText(text).width >= 1.5 * r) {
        outlined(pen, text, x, y + r + 18, ink);
        continue;
      }
      pen.fillStyle = ink;
      pen.fillText(text, x, y + 1);
    }
  }

  #marked(pen) {
    const { agents, links } = this.#marks;
    if (!agents.length && !links.length) return;
    const { accent, good, bad } = colours();
    const by = new Map(this.#places.map((place) => [place.agent, place]));
    const tones = { gained: good, lost: bad, dear: bad, "not ours": bad, forbidden: bad };
    const tone = (word) => tones[word] ?? accent;
    pen.font = "600 12px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    for (const [i, j, word] of links) {
      const [a, b] = [by.get(j), by.get(i)];
      if (!a || !b) continue;
      stroke(pen, a, b, tone(word), 3, word === "lost" || word === "forbidden" ? [6, 5] : []);
      const both = links.some(([k, l, other]) => k === j && l === i && other === word);
      if (both && i < j) continue; // one line and one word for the two directions
      const share = both ? 1 / 2 : 2 / 3;
      outlined(pen, word, a.x + share * (b.x - a.x), a.y + share * (b.y - a.y), tone(word));
    }
    for (const [i, word] of agents) {
      const place = by.get(i);
      if (place) outlined(pen, word, place.x, place.y - place.r - 14, tone(word));
    }
  }
}
