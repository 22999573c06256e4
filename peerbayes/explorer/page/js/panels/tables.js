// Tables of the problem as fields: the network and what happens to it, who breaks or lies, what is sent.

import { el } from "../dom.js";
import { button, choice, part, sends, slider, text, whyNot } from "../fields.js";

// The parameters that a problem offers, each as the field that fits it -----------------------------

/** Fields of the controls of one table: "network", "changes", "faults", "messages", "learning". */
function controlsOf(app, table) {
  const of = (key) => (key.includes(".") ? key.split(".").at(-2) : "network");
  return (app.state.view.controls ?? []).filter(({ key }) => of(key) === table).map((one) => control(app, one));
}

function control(app, { edit = "set-parameter", key, label, value, minimum, maximum, step, choices }) {
  const ask = (read) => sends(app.state, edit, (typed) => ({ key, value: read(typed) }));
  const id = `control-${key.replaceAll(".", "-")}`;
  if (choices) {
    const options = choices.map((one) => [String(one), String(one)]);
    return choice(id, label, options, String(value), ask((typed) => choices.find((one) => String(one) === typed)));
  }
  if (Array.isArray(value)) {
    const sizes = (typed) => typed.split(/[^0-9.]+/).filter(Boolean).map(Number);
    return text(id, label, value.join(" × "), ask(sizes));
  }
  const shown = toNumber(value);
  const same = ask((typed) => typed);
  if (!Number.isFinite(shown)) return text(id, label, value, same);
  return slider(app, id, label, shown, same, { minimum: minimum ?? 0, maximum: reach(shown, maximum), step: step ?? 0.01 });
}

/** Where the slider ends: of sizes not too far off, so that the hand has a choice; typing reaches farther. */
function reach(shown, maximum) {
  if (maximum === null || maximum === undefined) return Math.max(1, 2 * shown);
  return maximum > 100 ? Math.min(maximum, shown <= 20 ? 40 : shown <= 100 ? 200 : maximum) : maximum;
}

/** A number, also of a text such as "9/10". */
function toNumber(value) {
  if (typeof value === "number") return value;
  const [above, below = 1] = String(value ?? "").split("/").map(Number);
  return above / below;
}

/** Options, and what is now if it is none of them. */
const known = (names, one) => (one && !names.some(([name]) => name === one) ? [...names, [one, one]] : names);

// The network --------------------------------------------------------------------------------------

const rules = ["uniform", "metropolis", "lazy-metropolis", "max-degree"];
const kinds = [
  ["none", "nothing"],
  ["links", "links fail by chance"],
  ["presence", "agents rest and return"],
  ["delays", "messages are late"],
  ["gossip", "one pair at a time averages"],
  ["clocks", "one agent at a time wakes up"],
  ["walk", "a token walks the graph"],
];
const losses = [
  ["own", "the own belief"],
  ["renormalise", "whatever else arrived"],
  ["last", "the last that came"],
];

export function network(app) {
  const { state, actions } = app;
  const { view, document } = state;
  const ruled = view.form === "topology" || view.form === "edges";
  const rule = view.rule ?? (ruled && document.network.edge_confidence !== undefined ? "confidence" : "");
  const options = [
    ["", "free"],
    ...rules.map((name) => [name, name]),
    ...(rule === "confidence" ? [["confidence", "edge confidence"]] : []),
  ];
  const free = () => state.edit([{ kind: "free-weights" }]);
  const chosen = (name) => (name ? state.edit([{ kind: "set-rule", rule: name }]) : free());
  return el("section", { class: "panel", "data-key": "network", "aria-label": "Network" },
    el("h2", {}, "Network"),
    text("name", "Name", view.name, sends(state, "set-name", (name) => ({ name }))),
    text("title", "Title", view.title, sends(state, "set-name", (title) => ({ name: view.name, title }))),
    controlsOf(app, "network"),
    choice("rule", "Weights by rule", options, rule, { typed: chosen, why: whyNot(view, "set-rule") }),
    controlsOf(app, "learning"),
    el("div", { class: "row" },
      button("Add an agent", () => actions.addAgent(), { key: "add", why: whyNot(view, "add-agent") }),
      ruled ? button("Free the weights", free, { key: "free", why: whyNot(view, "free-weights") }) : null),
    changes(app));
}

/** Links fail, agents rest, messages are late. */
function changes(app) {
  const { state } = app;
  const now = state.document.network?.changes ?? { kind: "none" };
  const { kind, ...rest } = now;
  const lossy = kind === "links" && !(state.view.controls ?? []).some(({ key }) => key.endsWith("on_loss"));
  return part("changes", "What happens to it", { open: kind !== "none", className: "inner" },
    choice("changes-kind", "In each round", known(kinds, kind), kind,
      sends(state, "set-changes", (change) => ({ change }))),
    controlsOf(app, "changes"),
    lossy ? choice("changes-loss", "In place of a lost message", losses, now.on_loss ?? "own",
      sends(state, "set-changes", (on_loss) => ({ change: kind, ...rest, on_loss }))) : null);
}

// Who breaks or lies, how, and by which rule the others pool ---------------------------------------

const behaviours = [
  ["push", "speak for one hypothesis"],
  ["split", "tell everybody another story"],
  ["colluding", "hide among the honest"],
  ["random-lies", "say something else each round"],
  ["constant-belief", "always say the same"],
  ["stuck-data", "always see the same"],
  ["silent", "say nothing"],
];
const poolings = [
  ["average", "geometric mean, as always"],
  ["trimmed-mean", "trimmed mean"],
  ["median", "median"],
  ["clip", "clip how far one may pull"],
];

export function faults(app) {
  const { state } = app;
  const { view } = state;
  const faulty = view.faults?.faulty ?? [];
  const { behaviour = "push", rule = "average", count } = view.faults ?? {};
  const ask = (keys) => sends(state, "set-faults", (typed) => ({ ...faultsEdit(view, faulty), ...keys(typed) }));
  const honest = ask(() => ({ faulty: [] }));
  const some = faulty.length > 0;
  return part("faults", "Liars and broken agents", { className: "panel", open: some },
    el("p", { class: "quiet" }, some ? `Faulty: ${faulty.map((i) => view.agents[i]).join(", ")}.`
      : "Nobody is faulty. Choose an agent and tick “Faulty” among its fields."),
    some ? choice("behaviour", "What they do", known(behaviours, behaviour), behaviour,
      ask((chosen) => ({ behaviour: chosen }))) : null,
    some || rule !== "average" ? choice("pooling", "How the others pool", known(poolings, rule), rule,
      ask((chosen) => ({ rule: chosen }))) : null,
    rule === "trimmed-mean" ? text("trim", "Faulty neighbours allowed for", count ?? faulty.length,
      ask((typed) => ({ count: Math.round(Number(typed)) })), { type: "number", min: 0, step: 1 }) : null,
    controlsOf(app, "faults"),
    some ? button("Make all honest", () => honest.typed(), { key: "honest", why: honest.why }) : null);
}

/** Keys of the edit that makes these agents faulty and leaves behaviour and rule as they are. */
export function faultsEdit(view, faulty) {
  const { behaviour, rule, count } = view.faults ?? {};
  const kept = { behaviour, rule, count: rule === "trimmed-mean" ? count : null };
  const given = Object.entries(kept).filter(([, value]) => value !== undefined && value !== null);
  return { faulty, ...Object.fromEntries(given) };
}

// What agents send in place of their beliefs: quantised messages -----------------------------------

const quantisers = [
  ["", "beliefs as they are"],
  ["uniform", "all log-ratios, rounded", { step: "1/2" }],
  ["deadband", "all, or nothing while little has changed", { step: "1/2", threshold: "1" }],
  ["single", "one log-ratio a round", { step: "1/2", mixing: "1/4" }],
  ["acknowledged", "over links that lose messages, answered", { step: "1/2", loss: "1/10" }],
  ["unacknowledged", "over links that lose messages, unanswered", { step: "1/2", loss: "1/10" }],
  ["samples", "counts of draws", { draws: 16 }],
  ["plain", "rounded, without memory", { step: "1/2" }],
];

export function messages(app) {
  const now = app.state.document.messages ?? null;
  const start = (quantiser) => quantisers.find(([name]) => name === quantiser)[2];
  return part("messages", "What agents send", { className: "panel", open: Boolean(now) },
    choice("messages-kind", "Messages", quantisers, now ? (now.quantiser ?? "uniform") : "",
      sends(app.state, "set-messages", (quantiser) => (quantiser ? { quantiser, ...start(quantiser) } : {}))),
    now ? controlsOf(app, "messages") : null);
}
