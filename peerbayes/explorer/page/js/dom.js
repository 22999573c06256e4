// Elements are made here and nowhere else. Text is always a text node, never markup.

const heard = new WeakSet(); // elements with listeners
const kept = (child) => child !== null && child !== undefined && child !== false;
const handlers = [
  ...["onclick", "oninput", "onchange", "onkeydown", "onfocus", "onblur", "ontoggle", "onsubmit", "ondblclick"],
  ...["down", "move", "up", "cancel", "enter", "leave"].map((name) => `onpointer${name}`),
];

/** An element with attributes, listeners (onclick: f) and children (elements or text). */
export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(element, attributes, children) {
  element.append(...children.flat(Infinity).filter(kept));
  for (const [name, value] of Object.entries(attributes)) {
    if (!kept(value)) continue;
    if (handlers.includes(name)) {
      element[name] = value;
      heard.add(element);
    } else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [k, v] of Object.entries(value)) element.style.setProperty(k, v);
    else if (name === "checked" || name === "open") element[name] = value;
    else if (name !== "value") element.setAttribute(name, value === true ? "" : value);
  }
  if (kept(attributes.value)) element.value = attributes.value; // after min, max and step
  return element;
}

/** Puts children in place of what an element holds. */
export function refill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter(kept));
  return element;
}

/**
 * Makes an element hold these children while it keeps what is already there and alike: focus, a
 * slider under the hand and the reader's place survive. Listeners given as onclick … are renewed.
 */
export function patch(element, ...children) {
  const node = (child) => (child instanceof Node ? child : document.createTextNode(String(child)));
  const fresh = children.flat(Infinity).filter(kept).map(node);
  const old = [...element.childNodes];
  fresh.forEach((child, i) => {
    if (!old[i]) element.append(child);
    else if (alike(old[i], child)) renew(old[i], child);
    else old[i].replaceWith(child);
  });
  old.slice(fresh.length).forEach((child) => child.remove());
  return element;
}

function alike(a, b) {
  if (a.nodeType !== b.nodeType || a.nodeName !== b.nodeName) return false;
  return a.nodeType !== Node.ELEMENT_NODE || (a.getAttribute("data-key") === b.getAttribute("data-key") && a.type === b.type);
}

function renew(old, fresh) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  const held = old.type === "range" && underHand(old);
  if (!held) renewAttributes(old, fresh);
  if (fresh.hasAttribute("style")) {
    for (const name of fresh.style) old.style.setProperty(name, fresh.style.getPropertyValue(name));
  }
  if (heard.has(fresh) || heard.has(old)) {
    for (const name of handlers) if (old[name] !== fresh[name]) old[name] = fresh[name];
    heard.add(old);
  }
  patch(old, [...fresh.childNodes]);
  if (!underHand(old)) {
    if ("value" in fresh && old.nodeName !== "LI" && old.value !== fresh.value) old.value = fresh.value;
    if ("checked" in fresh && old.checked !== fresh.checked) old.checked = fresh.checked;
  }
}

function renewAttributes(old, fresh) {
  const ours = (name) => name === "style" || (name === "open" && old.nodeName === "DETAILS");
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !ours(name)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (!ours(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
}

/** A field that is being dragged or typed into keeps what the reader put there. */
function underHand(element) {
  if (element.type === "range" && "held" in element.dataset) return true;
  if (element !== document.activeElement) return false;
  if (element.type === "range") return element.matches(":active");
  return ["text", "number", "textarea"].includes(element.type);
}

/** Work that is done once, right after what is under way, however often it is asked for. */
export function together(work) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    queueMicrotask(() => {
      asked = false;
      work();
    });
  };
}

/** A view of some topics, drawn when it is shown and, while it is, after each change: {show, hide}. */
export function shownTogether(container, state, topics, fill) {
  let visible = false;
  const draw = () => {
    if (visible && state.view) patch(container, fill());
  };
  const soon = together(draw);
  for (const topic of topics) state.on(topic, soon);
  const see = (yes) => {
    visible = yes;
    draw();
  };
  return { show: () => see(true), hide: () => see(false) };
}

/** A row of a list of bars: its name, a bar of a share of the whole, and what stands behind it. */
export const bar = (key, name, share, number, { kind = "", look = null } = {}, ...after) =>
  el("li", { "data-key": key, "data-look": look }, name,
    el("span", { class: "bar-track", "aria-hidden": "true" },
      el("span", { class: `bar ${kind}`.trim(), style: { width: `${100 * share}%` } })),
    number, after);

/** Gives a canvas so many pixels, `ratio` to one of the page; whether it had others. */
export function sized(canvas, width, height, ratio) {
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width === w && canvas.height === h) return false;
  Object.assign(canvas, { width: w, height: h });
  return true;
}

/** Whether the reader asked for little motion. */
export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
