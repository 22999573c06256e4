// Where numbers come from. Pages know these interfaces only. LocalSource asks the server of
// `peerbayes explore`:
//
//   start() open({name, text, format}) edit(document, edits, {numbers})   -> {document, view, numbers}
//   save(document, format)                                                -> {text, file_name}
//   gallery() story(name)
//   certify analyse run design, each (request, {onProgress, signal})      -> the result
//
// LiveSource hears what `peerbayes watch` hears of a live network, and can ask for nothing else:
//   follow({onProgress, signal})    onProgress({progress: {document, layout}}) until it is over
//
// "gone" and "back" are dispatched as events; `gone` says which it is.
//
// A refusal is an Error of class Refusal whose message is the server's one line.

export class Refusal extends Error {}
export class Cancelled extends Error {}
export class Gone extends Error {}

const pauses = [300, 600, 1000, 2000, 4000]; // milliseconds before each new try, the last for ever

class Server extends EventTarget {
  #token;
  #session = crypto.randomUUID ? crypto.randomUUID() : String(Math.random()).slice(2);

  constructor(token) {
    super();
    this.#token = token;
    this.gone = false;
  }

  /** An answer that comes at once; while the server is gone, the call is tried again. */
  async quick(path, body, signal) {
    for (let tries = 0; ; tries += 1) {
      try {
        const answer = await this.#post(path, body, signal);
        const read = await readOf(answer);
        this.#reached(true);
        return judged(answer, read);
      } catch (problem) {
        if (!(problem instanceof TypeError)) throw problem; // fetch says TypeError where nobody answers
        this.#reached(false);
        await pause(pauses[Math.min(tries, pauses.length - 1)], signal);
      }
    }
  }

  /** An answer that takes long: lines of progress, then one with the result. */
  async long(path, body, { onProgress = () => {}, signal } = {}) {
    let answer;
    try {
      answer = await this.#post(path, body, signal);
    } catch (problem) {
      throw problem instanceof TypeError ? this.#lost() : problem;
    }
    const isStream = (answer.headers.get("content-type") ?? "").includes("ndjson");
    if (!isStream) return judged(answer, await readOf(answer));
    try {
      for await (const line of lines(answer.body)) {
        if (line.progress) onProgress(line);
        else if ("result" in line) return line.result;
        else return judged(answer, line);
      }
    } catch (problem) {
      if (!(problem instanceof TypeError)) throw problem;
    }
    throw signal?.aborted ? new Cancelled("cancelled") : this.#lost();
  }

  async #post(path, body, signal) {
    try {
      return await fetch(`/api/${path}`, {
        method: "POST",
        headers: {
          "Content-Type": "application/json",
          "X-Peerbayes-Token": this.#token,
          "X-Peerbayes-Session": this.#session,
        },
        body: JSON.stringify(body),
        signal,
      });
    } catch (problem) {
      throw problem.name === "AbortError" ? new Cancelled("cancelled") : problem;
    }
  }

  #lost() {
    this.#reached(false);
    return new Gone("The server does not answer.");
  }

  #reached(yes) {
    if (this.gone === !yes) return;
    this.gone = !yes;
    this.dispatchEvent(new Event(yes ? "back" : "gone"));
  }
}

export class LocalSource extends Server {
  start = () => this.quick("start", {});
  open = ({ name = null, text = null, format = null }) => this.quick("open", { name, text, format });
  edit = (document, edits, { numbers = true, delta, signal } = {}) =>
    this.quick("edit", { document, edits, numbers, delta }, signal);
  save = (document, format) => this.quick("save", { document, format });
  gallery = () => this.quick("gallery", {});
  story = (name) => this.quick("story", { name });
  cancel = (path) => this.quick("cancel", { path }).catch(() => null);

  certify = (request, options) => this.long("certify", request, options);
  analyse = (request, options) => this.long("analyse", request, options);
  run = (request, options) => this.long("run", request, options);
  design = (request, options) => this.long("design", request, options);
}

export class LiveSource extends Server {
  follow = (options) => this.long("follow", {}, options);
}

const answered = ({ status }) => `The server answered with ${status}.`;
const readOf = (answer) => answer.json().catch(() => ({ error: answered(answer) }));

/** The answer's body, or the error that it stands for. */
function judged(answer, read) {
  if (read?.cancelled) throw new Cancelled("cancelled");
  if (read?.error) throw new Refusal(read.error);
  if (!answer.ok) throw new Refusal(answered(answer));
  return read;
}

/** JSON values of a stream, one a line. */
async function* lines(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const parts = (rest + value).split("\n");
      rest = parts.pop();
      for (const part of parts) if (part.trim()) yield JSON.parse(part);
    }
    if (rest.trim()) yield JSON.parse(rest);
  } catch (problem) {
    throw problem.name === "AbortError" ? new Cancelled("cancelled") : problem;
  } finally {
    reader.cancel().catch(() => {});
  }
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(new Cancelled("cancelled"));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}
