// How a problem looks as a graph: sizes, shades and widths. Pure functions of view and numbers.
// An arrow from j to i says that i listens to j; its width is the weight.

import { between, colours } from "./colours.js";
import { influence } from "./words.js";

export const manyAgents = 120; // from here on, plainer lines and no names until they are looked at
export const fewAgents = 40; // up to here, the smallest agents have their names too
export const manyLinks = 700;

/** Units of the graph for one of `state.positions`. */
export const unit = 130;

/** Diameter of agent i: its area is proportional to its influence v, within limits. */
export function diameter(share, agents) {
  const relative = share === null || share === undefined ? 1 : share * agents;
  return Math.min(96, Math.max(16, 34 * Math.sqrt(relative)));
}

/** How much evidence each agent has: the most that it tells any two hypotheses apart, 0 to 1 of the best agent's. */
export function evidenceShare(view, numbers) {
  const divergences = Object.values(numbers?.learning?.divergences ?? {});
  if (!divergences.length) return view.agents.map(() => 0.5);
  const most = view.agents.map((_, i) => Math.max(0, ...divergences.map((row) => row[i] ?? 0)));
  const best = Math.max(...most);
  return most.map((value) => (best > 0 ? value / best : 0));
}

/** Elements of the graph: {nodes: Map id -> data, edges: Map id -> data}. */
export function elements(view, numbers) {
  const shades = evidenceShare(view, numbers);
  const v = influence(numbers);
  const size = view.agents.length;
  const faulty = new Set(view.faults?.faulty ?? []);
  const { raised, evidence } = colours();
  const nodes = new Map();
  const edges = new Map();
  view.agents.forEach((name, i) => nodes.set(`n${i}`, {
    id: `n${i}`, agent: i, name: String(name), size: diameter(v?.[i], size), self: 0,
    shade: between(raised, evidence, 0.1 + 0.9 * Math.sqrt(shades[i])),
    kind: faulty.has(i) ? "faulty" : shades[i] > 0 ? "knows" : "blind",
  }));
  const links = new Set(view.weights.filter(([i, j]) => i !== j).map(([i, j]) => i * size + j));
  for (const [i, j, weight] of view.weights) {
    const both = links.has(j * size + i) ? "yes" : "no";
    if (i === j) nodes.get(`n${i}`).self = weight;
    else edges.set(`e${i}-${j}`, {
      id: `e${i}-${j}`, source: `n${j}`, target: `n${i}`, hears: i, speaks: j, weight, width: 0.8 + 7 * weight, both,
    });
  }
  return { nodes, edges };
}

/** The style of the graph, in the colours of now. */
export function style(agents, links) {
  const { soft, accent, bad, edge } = colours();
  const many = agents > manyAgents || links > manyLinks;
  const bent = { "curve-style": "unbundled-bezier", "control-point-distances": -16, "control-point-weights": 0.5 };
  const apart = { "target-distance-from-node": 5, "source-distance-from-node": 5 };
  const rules = {
    node: {
      width: "data(size)", height: "data(size)", "background-color": "data(shade)",
      "border-width": 1.5, "border-color": soft, "overlay-opacity": 0,
    },
    "node[kind = 'blind']": { "border-style": "dashed" },
    "node[kind = 'faulty']": { shape: "octagon", "border-color": bad, "border-width": 3, "border-style": "double" },
    edge: {
      width: "data(width)", "line-color": edge, "target-arrow-color": edge, "arrow-scale": 0.9, "overlay-opacity": 0,
      ...(many ? { "target-arrow-shape": "none", "curve-style": "haystack", opacity: 0.45 }
        : { "target-arrow-shape": "triangle", "curve-style": "straight", opacity: 0.9, ...apart }),
    },
    ...(many ? {} : { "edge[both = 'yes']": bent }),
    "node.absent": { opacity: 0.35, "border-style": "dotted" },
    "edge.absent": { "line-color": soft, "line-style": "dashed", "target-arrow-color": soft, opacity: 0.3 },
    "node.chosen, node.from": { "border-color": accent, "border-width": 4 },
    "edge.chosen": { "line-color": accent, "target-arrow-color": accent, opacity: 1, "z-index": 9 },
    "node.target": { "border-color": accent, "border-width": 4, "border-style": "dotted" },
  };
  return Object.entries(rules).map(([selector, looks]) => ({ selector, style: looks }));
}
