// SPDX-License-Identifier: Apache-2.0
// Makes elements. Text is only ever set as text, so that no value of a database becomes markup.

const svgSpace = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "text") element.textContent = value;
    else if (name === "style") for (const [key, text] of Object.entries(value)) element.style.setProperty(key, text);
    else if (name === "value") element.value = value;
    else if (name === "checked" || name === "disabled" || name === "hidden" || name === "selected") element[name] = true;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  add(element, children);
  return element;
}

function add(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(typeof child === "object" ? child : document.createTextNode(String(child)));
  }
}

/** An element with attributes, listeners (`onclick`), `style` properties and children. */
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(svgSpace, tag), attributes, children);
}

/** Replaces the contents of an element. */
export function put(element, ...children) {
  element.textContent = "";
  add(element, children);
  return element;
}

export const byId = (id) => document.getElementById(id);

const nameOf = (element) => element.id || element.dataset.name || element.getAttribute("aria-label") || element.textContent;

/** Runs `draw`, which replaces the contents of an element. The control of the same name has the focus afterwards. */
export function redraw(element, draw) {
  const name = element.contains(document.activeElement) ? nameOf(document.activeElement) : "";
  const top = element.scrollTop;
  draw();
  element.scrollTop = top;
  if (!name || element.contains(document.activeElement)) return;
  const controls = element.querySelectorAll("button, summary, input, select, textarea");
  [...controls].find((each) => nameOf(each) === name)?.focus({ preventScroll: true });
}

const paths = {
  menu: "M2 4h12M2 8h12M2 12h12",
  close: "M3.5 3.5l9 9M12.5 3.5l-9 9",
  back: "M10 3L5 8l5 5",
  forward: "M6 3l5 5-5 5",
  key: "M9.5 6.5a3 3 0 1 1-1.1-2.3M8.6 8.4L3 14M5 12l1.5 1.5",
  index: "M3 3h10M3 8h7M3 13h4",
  link: "M6 10l4-4M7 4.5L9 3a3 3 0 0 1 4 4l-1.5 2M9 11.5L7 13a3 3 0 0 1-4-4l1.5-2",
  lock: "M4 7h8v6.5H4zM5.5 7V5a2.5 2.5 0 0 1 5 0v2",
  pen: "M3 13l.7-3L10.5 3.2a1.4 1.4 0 0 1 2 2L5.9 12.2z",
  undo: "M6 4L3 7l3 3M3 7h6a3.5 3.5 0 0 1 0 7H7",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM11 11l3 3",
  plus: "M8 3v10M3 8h10",
  trash: "M3 4.5h10M6 4.5V3h4v1.5M4.5 4.5l.6 9h5.8l.6-9",
  up: "M8 13V3M4 7l4-4 4 4",
  down: "M8 3v10M4 9l4 4 4-4",
  columns: "M2.5 3h11v10h-11zM6.5 3v10M10 3v10",
  download: "M8 2.5v7.5M5 7l3 3 3-3M3 13h10",
  upload: "M8 10V2.5M5 5.5l3-3 3 3M3 13h10",
  graph: "M2.5 3h4v3h-4zM9.5 10h4v3h-4zM9.5 3h4v3h-4zM6.5 4.5h3M4.5 6v5.5h5",
  gauge: "M2.5 12a6 6 0 1 1 11 0M8 10l2.5-3.5",
  help: "M6 6a2 2 0 1 1 2.7 1.9c-.5.2-.7.6-.7 1.1v.5M8 12v.3",
  star: "M8 2.5l1.7 3.6 3.8.5-2.8 2.7.7 3.9L8 11.3l-3.4 1.9.7-3.9L2.5 6.6l3.8-.5z",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1.5v1.5M8 13v1.5M1.5 8H3M13 8h1.5M3.4 3.4l1 1M11.6 11.6l1 1M3.4 12.6l1-1M11.6 4.4l1-1",
};

/** A small drawing beside or instead of a word. */
export function icon(name) {
  return svg("svg", { viewBox: "0 0 16 16", class: "icon", "aria-hidden": "true" }, svg("path", { d: paths[name] }));
}

/** A button with a drawing; `label` is read to those who do not see it. */
export function iconButton(name, label, onclick, more = {}) {
  return h("button", { type: "button", class: "quiet", title: label, "aria-label": label, onclick, ...more }, icon(name));
}
