// Beliefs as pies, one an agent, drawn anew in every frame of a run: few as sectors of a canvas,
// many pixel by pixel, which takes a millisecond or two for 400 agents also without a graphics card.

import { colours, parts } from "./colours.js";
import { sized } from "./dom.js";

const turn = 2 * Math.PI;
const steps = 1024; // directions that are told apart
const many = 150;

export class Pies {
  #pen;
  #image = null;
  #discs = new Map();
  #shade = new Uint32Array(steps);

  constructor(canvas) {
    this.#pen = canvas.getContext("2d");
  }

  /** places: {agent, x, y, r} in pixels of the page; rows[agent]: probabilities; null clears. */
  draw(places, rows, width, height) {
    const ratio = places.length > many ? 1 : Math.min(2, devicePixelRatio || 1);
    if (sized(this.#pen.canvas, width, height, ratio)) this.#image = null;
    if (rows && places.length > many) {
      this.#pixels(places, rows);
      return;
    }
    this.#pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.#pen.clearRect(0, 0, width, height);
    if (rows) this.#sectors(places, rows);
  }

  #sectors(places, rows) {
    const pen = this.#pen;
    const { hypotheses } = colours();
    for (const { agent, x, y, r } of places) {
      let from = -turn / 4;
      (rows[agent] ?? []).forEach((share, k) => {
        const to = from + turn * share;
        if (share > 0.001) {
          pen.fillStyle = hypotheses[k % hypotheses.length];
          pen.beginPath();
          if (share < 0.999) pen.moveTo(x, y);
          pen.arc(x, y, r, from, to);
          pen.fill();
        }
        from = to;
      });
    }
  }

  #pixels(places, rows) {
    const { width, height } = this.#pen.canvas;
    if (!width || !height) return;
    this.#image ??= this.#pen.createImageData(width, height);
    const pixels = new Uint32Array(this.#image.data.buffer);
    const paint = colours().hypotheses.map(little);
    pixels.fill(0);
    for (const { agent, x, y, r } of places) {
      if (!rows[agent]) continue;
      let from = 0;
      let sum = 0;
      rows[agent].forEach((share, k) => {
        sum += share;
        const to = Math.min(steps, Math.round(sum * steps));
        this.#shade.fill(paint[k % paint.length], from, to);
        from = to;
      });
      this.#disc(pixels, width, height, Math.round(x), Math.round(y), r);
    }
    this.#pen.putImageData(this.#image, 0, 0);
  }

  #disc(pixels, width, height, x, y, r) {
    const { reach, dx, dy, direction, cover } = this.#mask(r);
    const inside = x >= reach && y >= reach && x + reach < width && y + reach < height;
    for (let p = 0; p < dx.length; p += 1) {
      const column = x + dx[p];
      const row = y + dy[p];
      if (inside || (column >= 0 && row >= 0 && column < width && row < height)) {
        pixels[row * width + column] = this.#shade[direction[p]] | (cover[p] << 24);
      }
    }
  }

  /** The pixels of a disc: where, in which direction from its middle, how much of each it covers. */
  #mask(r) {
    const key = Math.round(2 * r);
    if (this.#discs.has(key)) return this.#discs.get(key);
    const reach = Math.ceil(r);
    const found = { reach, dx: [], dy: [], direction: [], cover: [] };
    for (let dy = -reach; dy <= reach; dy += 1) {
      for (let dx = -reach; dx <= reach; dx += 1) {
        const covered = Math.min(1, Math.max(0, r + 0.5 - Math.hypot(dx, dy)));
        if (covered === 0) continue;
        found.dx.push(dx);
        found.dy.push(dy);
        found.cover.push(Math.round(255 * covered));
        found.direction.push(Math.floor(((Math.atan2(dy, dx) / turn + 1.25) % 1) * steps) % steps);
      }
    }
    const mask = {
      reach,
      dx: Int16Array.from(found.dx),
      dy: Int16Array.from(found.dy),
      direction: Uint16Array.from(found.direction),
      cover: Uint8Array.from(found.cover),
    };
    this.#discs.set(key, mask);
    return mask;
  }
}

/** "#rrggbb" as a pixel without its cover, red in the lowest byte. */
function little(colour) {
  const [r, g, b] = parts(colour);
  return (b << 16) | (g << 8) | r;
}
