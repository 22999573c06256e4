// Elements are made here and nowhere else. Text is always a text node, never markup.

const heard = new WeakSet(); // elements with listeners
const kept = (child) => child !== null && child !== undefined && child !== false;
const handlers = [
  "onclick",
  "oninput",
  "onchange",
  "onkeydown",
  "onfocus",
  "onblur",
  "ontoggle",
  "onsubmit",
  "onpointerdown",
  "onpointermove",
  "onpointerup",
  "onpointercancel",
  "onpointerenter",
  "onpointerleave",
  "ondblclick",
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
  const fresh = children
    .flat(Infinity)
    .filter(kept)
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
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
  return (
    a.nodeType === b.nodeType &&
    a.nodeName === b.nodeName &&
    (a.nodeType !== Node.ELEMENT_NODE ||
      (a.getAttribute("data-key") === b.getAttribute("data-key") && a.type === b.type))
  );
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
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && name !== "style" && !(name === "open" && old.nodeName === "DETAILS"))
      old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (
      name !== "style" &&
      !(name === "open" && old.nodeName === "DETAILS") &&
      old.getAttribute(name) !== value
    )
      old.setAttribute(name, value);
  }
}

/** A field that is being dragged or typed into keeps what the reader put there. */
function underHand(element) {
  if (element.type === "range" && "held" in element.dataset) return true;
  if (element !== document.activeElement) return false;
  return element.type === "range"
    ? element.matches(":active")
    : ["text", "number", "textarea"].includes(element.type);
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

/** Whether the reader asked for little motion. */
export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
