// Puts the page together: state, source, graph, panels, views.

import { Actions } from "./actions.js";
import { Certifier } from "./certify.js";
import { dialogue } from "./dialogs.js";
import { el, patch, together } from "./dom.js";
import { Tools } from "./edit.js";
import { button } from "./fields.js";
import { Files } from "./files.js";
import { Graph } from "./graph.js";
import { icon } from "./icons.js";
import { Keyboard, keys } from "./keyboard.js";
import { mountLine } from "./line.js";
import { remember, remembered } from "./remember.js";
import { Sheet } from "./sheet.js";
import { LocalSource } from "./source.js";
import { State } from "./state.js";
import { nextTheme, startTheme } from "./theme.js";
import { Views } from "./views.js";
import * as headline from "./panels/headline.js";
import * as words from "./words.js";

const at = (id) => document.getElementById(id);

function build() {
  const source = new LocalSource(new URLSearchParams(location.search).get("token") ?? "");
  const state = new State(source);
  const app = { state, source, words };
  startTheme(state, () => app.graph.restyle());
  app.graph = new Graph(
    at("graph"),
    state,
    () =>
      Math.max(0, at("tools").getBoundingClientRect().bottom - at("graph").getBoundingClientRect().top) + 8,
  );
  app.actions = new Actions(app);
  app.tools = new Tools(at("tools"), app);
  app.files = new Files(app);
  app.views = new Views(at("tabs"), at("views"), app);
  app.sheet = new Sheet(at("side"), at("grip"), app);
  app.commands = commands(app);
  app.keyboard = new Keyboard(app);
  headline.mount(at("headline"), app);
  mountLine(at("line"), app);
  mountBar(app);
  mountSpoken(at("spoken"), app);
  app.certifier = new Certifier(app);
  return app;
}

function commands(app) {
  const { state, files } = app;
  return {
    undo: () => state.undo(),
    redo: () => state.redo(),
    open: files.open,
    save: files.save,
    share: files.share,
    pin: () => (state.pinned ? state.unpin() : state.pin()),
    theme: () => nextTheme(state),
    keys: showKeys,
    view: (index) => app.views.showAt(index),
    async fields() {
      await app.views.show("edit");
      at("views").querySelector("section:not([hidden]) :is(input, select, button):not([disabled])")?.focus();
    },
  };
}

function mountBar(app) {
  const { state, commands: act } = app;
  const show = () => {
    const one = (name, label, about, more) =>
      button(el("span", { class: "label" }, label), act[name], { key: name, icon: icon(name), title: about, ...more });
    const pin = state.pinned ? "Let the pinned numbers go (p)" : "Pin the numbers of now, to compare (p)";
    patch(at("commands"),
      one("undo", "Undo", "Undo (Ctrl Z)", { "aria-disabled": String(!state.canUndo) }),
      one("redo", "Redo", "Redo (Ctrl Shift Z)", { "aria-disabled": String(!state.canRedo) }),
      one("open", "Open", "Open a file, a text or a link (Ctrl O)"),
      one("save", "Save", "Save the problem file (Ctrl S)"),
      one("share", "Share", "One link with the problem in it"),
      one("pin", "Pin", pin, { "aria-pressed": String(Boolean(state.pinned)), "data-look": "pinned" }),
      one("theme", "Theme", "Colours: light, dark, or as the system says"),
      one("keys", "Keys", "List of keys (?)"));
    const { view } = state;
    const title = view?.title ? el("span", { class: "quiet" }, ` ${view.title}`) : null;
    patch(at("name"), view ? [el("strong", {}, view.name), title] : "");
    document.title = view ? `${view.name} – peerbayes explore` : "peerbayes explore";
  };
  const soon = together(show);
  for (const topic of ["document", "history", "pinned"]) state.on(topic, soon);
  const sign = (key, name, act) => button("", act, { key, kind: "icon-only", icon: icon(key), name });
  patch(at("corner"),
    sign("fit", "Show the whole graph", () => app.graph.fit()),
    sign("tidy", "Lay the graph out anew", () => app.actions.tidy()));
  show();
}

/** Says aloud what was chosen, for those who listen. */
function mountSpoken(element, { state }) {
  state.on("selection", ({ agent, link }) => {
    const { view, numbers } = state;
    if (!view) return;
    const v = words.influence(numbers);
    const weight = link && view.weights.find(([i, j]) => i === link[0] && j === link[1])?.[2];
    const spoken = agent === undefined ? "" : `Agent ${view.agents[agent]}${v ? `, influence ${words.share(v[agent])}` : ""}`;
    const heard = link && `${view.agents[link[0]]} listens to ${view.agents[link[1]]}, weight ${words.number(weight)}`;
    element.textContent = heard ?? spoken;
  });
}

const showKeys = () => dialogue("Keys", () => keys.map(([title, list]) => [
  el("h3", {}, title),
  el("dl", { class: "keys" }, list.map(([key, what]) => [el("dt", {}, key), el("dd", {}, what)])),
]));

/** The problem of the address, else the work of before a reload, else what the server starts with. */
async function begin({ state, source, files }) {
  const work = remembered();
  if (work) state.set({ ...work.settings, theme: state.settings.theme });
  if (await files.fromAddress()) return;
  const start = async () => {
    const answer = await source.start();
    const fits = answer.positions?.length === answer.view.agents.length;
    state.open(answer, fits ? answer.positions : null);
  };
  if (work && work.server === location.search && (await restored(state, source, work))) {
    state.say("Your work of before is back.", "done", ["Begin anew", start]);
    return;
  }
  await start();
  if (work && work.server !== location.search) {
    state.say("This tab keeps work of an earlier server.", "notice", [
      "Bring it back",
      async () => (await restored(state, source, work)) && state.say(null),
    ]);
  }
}

/** Shows what was kept, pin included; whether it could be opened. */
async function restored(state, source, work) {
  const answerOf = async ({ document, positions }) => {
    const answer = await source.edit(document, []);
    return { ...answer, positions: positions?.length === answer.view.agents.length ? positions : null };
  };
  try {
    if (work.pinned) state.pin(await answerOf(work.pinned));
    const answer = await answerOf(work);
    state.open(answer, answer.positions);
    return true;
  } catch (problem) {
    state.say(`Your work of before could not be opened: ${problem.message}`, "refusal");
    return false;
  }
}

const app = build();
app.views.show("numbers");
begin(app)
  .then(() => remember(app.state))
  .catch((problem) => app.state.say(problem.message, "refusal"));
globalThis.peerbayes = app; // for the browser's console
