// Open, paste, save and share.

import { dialogue } from "./dialogs.js";
import { el, refill } from "./dom.js";
import { button, field } from "./fields.js";
import { linkOf, readLink } from "./share.js";
import { Cancelled, Gone, Refusal } from "./source.js";

const most = 4_000_000; // bytes the server takes

export class Files {
  #app;

  constructor(app) {
    this.#app = app;
    const { container } = app.graph;
    container.addEventListener("dragover", (event) => event.preventDefault());
    container.addEventListener("drop", (event) => {
      event.preventDefault();
      const [file] = event.dataTransfer.files;
      if (file)
        this.#read(file).then((line) => {
          if (line) app.state.say(line, "refusal");
        });
    });
    addEventListener("hashchange", () => this.fromAddress());
  }

  /** Opens the problem in the address, if there is one; says whether there was. */
  async fromAddress() {
    if (!location.hash.includes("problem=")) return false;
    const line = await this.openText(location.hash);
    history.replaceState(null, "", location.pathname + location.search);
    if (line) this.#app.state.say(line, "refusal");
    return !line;
  }

  /** Opens a link, TOML or JSON; null if it is shown, else the line that says why not. */
  async openText(text, format = null) {
    const { state, source } = this.#app;
    try {
      const link = text.trim().startsWith("{") || text.includes("\n[") ? null : await readLink(text);
      if (link) {
        const answer = await source.edit(link.document, []);
        state.open(answer, link.positions?.length === answer.view.agents.length ? link.positions : null);
      } else {
        state.open(
          await source.open({ text, format: format ?? (text.trim().startsWith("{") ? "json" : "toml") }),
        );
      }
      state.say(`Opened ${state.view.name}.`, "done");
      return null;
    } catch (problem) {
      if (problem instanceof Cancelled) return null;
      return problem.message;
    }
  }

  async #read(file) {
    if (file.size > most) return `${file.name} has more than 4 megabytes.`;
    return this.openText(
      await file.text(),
      file.name.endsWith(".json") ? "json" : file.name.endsWith(".toml") ? "toml" : null,
    );
  }

  open = () =>
    dialogue("Open a problem", (dialog) => {
      const line = el("p", { class: "refusal", role: "alert" });
      const done = (problem) => {
        if (problem) refill(line, problem);
        else dialog.close();
      };
      const area = el("textarea", {
        id: "paste", rows: 12, spellcheck: "false",
        placeholder: '[network]\nweights = [["9/10", "1/10"], ["3/5", "2/5"]]\n…',
      });
      const name = el("input", { type: "text", id: "builtin", autocomplete: "off", placeholder: "p2-star a=0.1" });
      const byName = async () => {
        try {
          this.#app.state.open(await this.#app.source.open({ name: name.value.trim() }));
          dialog.close();
        } catch (problem) {
          refill(line, problem.message);
        }
      };
      const chosen = (event) => {
        const [file] = event.target.files;
        if (file) this.#read(file).then(done);
      };
      return [
        line,
        field("file", "A file, TOML or JSON", el("input", { type: "file", id: "file", accept: ".toml,.json", onchange: chosen })),
        field("paste", "Or paste its text, or a shared link",
          [area, button("Open the text", () => this.openText(area.value).then(done), { kind: "primary" })]),
        field("builtin", "Or a built-in by its name", el("div", { class: "row" }, name, button("Open", byName))),
      ];
    });

  save = () =>
    dialogue("Save the problem", (dialog) => {
      const line = el("p", { class: "refusal", role: "alert" });
      const save = async (format) => {
        try {
          const { text, file_name: name } = await this.#app.source.save(this.#app.state.document, format);
          download(name, text);
          this.#app.state.say(`Saved ${name}.`, "done");
          dialog.close();
        } catch (problem) {
          if (problem instanceof Refusal || problem instanceof Gone) refill(line, problem.message);
          else throw problem;
        }
      };
      const offline = this.#app.source.gone;
      const gone = "The server does not answer. The problem can be saved from here as JSON; every command reads that too.";
      const about = "The file is a problem file: every command of peerbayes takes it, and this page opens it again.";
      return [
        line,
        offline ? el("p", {}, gone) : null,
        el("p", { class: "quiet" }, about),
        el("div", { class: "row" },
          offline ? null : button("Save as TOML", () => save("toml"), { kind: "primary" }),
          button("Save as JSON", () => (offline ? this.#offline(dialog) : save("json")), { kind: offline ? "primary" : "" })),
      ];
    });

  #offline(dialog) {
    const { state } = this.#app;
    download(`${state.document.name ?? "problem"}.json`, `${JSON.stringify(state.document, null, 2)}\n`);
    dialog.close();
  }

  share = async () => {
    const { state } = this.#app;
    const link = await linkOf(state, `${location.origin}/`);
    const here = link.replace("/#", `/${location.search}#`);
    await dialogue("Share as a link", () => {
      const address = el("input", {
        type: "text", id: "link", readonly: true, value: link, onfocus: (event) => event.target.select(),
      });
      const copied = el("span", { class: "quiet", role: "status" });
      const copy = async () => {
        address.select();
        try {
          await navigator.clipboard.writeText(link);
          refill(copied, "Copied.");
        } catch {
          refill(copied, "Copy it with Ctrl C.");
        }
      };
      const about = "The whole problem is in the link, and nowhere else: nothing was sent. Who has it pastes it into Open on a page of their own.";
      return [
        el("p", {}, about),
        field("link", `The link, ${link.length} characters`, address),
        el("div", { class: "row" },
          button("Copy", copy, { kind: "primary" }),
          el("a", { class: "button", href: here, target: "_blank", rel: "noreferrer" }, "Open it here, in another tab"),
          copied),
      ];
    });
  };
}

function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  const link = el("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
