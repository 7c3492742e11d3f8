// SPDX-License-Identifier: Apache-2.0
// Values as elements: short ones in the cells of a grid, whole ones in the panel of an object.

import { blob, get } from "./api.js";
import { h, icon } from "./dom.js";
import { bytes, count, decodeBase64, hexLines, localDate, plural } from "./format.js";
import { complain, copy } from "./overlay.js";

const numbers = new Set(["Int", "Float", "Double", "Decimal128"]);

export const isNumber = (property) => property.collection === "none" && numbers.has(property.type);

/** True if a grid can be sorted by the property. A path of properties has points, and operators begin with @. */
export const isSortable = (property) =>
  property.collection === "none" && !property.isLink && property.type !== "Data" && !/[.@]/.test(property.name);

/** The contents of a cell: a list of children and a class. */
export function cellContent(cell, property) {
  // A row of another schema may lack the cell.
  if (cell === null || cell === undefined) return ["null", "null"];
  if (typeof cell === "string") {
    if (property.type === "Bool") return [cell, cell === "true" ? "bool yes" : "bool"];
    if (property.type === "String" && cell === "") return ["empty", "null"];
    return [cell, isNumber(property) ? "number" : ""];
  }
  if (cell.link !== undefined) {
    return [h("span", { class: "link", "data-class": cell.link, "data-key": cell.key, title: `${cell.link} #${cell.key}` }, cell.s), ""];
  }
  if (cell.in !== undefined) return [[h("span", { class: "tag", text: cell.in }), cell.s], "dim"];
  if (cell.n !== undefined) return [[h("span", { class: "tag", text: count(cell.n) }), cell.s], "dim"];
  if (cell.bytes !== undefined) return [bytes(cell.bytes), "dim"];
  if (cell.type !== undefined) return [[h("span", { class: "tag", text: cell.type }), cell.s], ""];
  return [cell.s + " …", ""];
}

// Nodes

/**
 * A node; `context` has the class, key and property that it belongs to, and `follow(object)`. `isTop` says that it is the
 * value of the property, `isCollection` that the property is a collection, whose elements can be asked for.
 */
export function nodeElement(node, context) {
  switch (node.t) {
    case "null": return h("span", { class: "null", text: "null" });
    case "deep": return h("span", { class: "null", text: "nested too deeply, or too long, to be shown here" });
    case "String": return stringElement(node, context);
    case "Date": return dateElement(node);
    case "Data": return dataElement(node, context);
    case "link": return linkElement(node, context);
    case "embedded": return embeddedElement(node, context);
    case "list": case "set": case "map": return collectionElement(node, context);
    case "Bool": return h("span", { class: node.v === "true" ? "bool yes" : "bool", text: node.v });
    default: return h("span", { class: numbers.has(node.t) ? "code number" : "code", text: node.v });
  }
}

function stringElement(node, context) {
  if (node.v === "") return h("span", { class: "null", text: "empty" });
  const text = h("span", { class: "string", text: node.v });
  if (node.cut === undefined) return text;
  return h("div", {}, text, h("p", { class: "hint", text: `Cut: the text of '${context.property}' has ${bytes(node.cut)}.` }));
}

function dateElement(node) {
  const local = localDate(node.v);
  return h("span", {}, h("span", { class: "code", text: node.v }), local && h("span", { class: "hint block", text: `${local} here` }));
}

function dataElement(node, context) {
  if (node.n === 0) return h("span", { class: "null", text: "empty" });
  const data = decodeBase64(node.v);
  const element = h("div", { class: "data" });
  if (node.picture && context.isTop) {
    const picture = h("img", { alt: `Picture in ${context.property}`, class: "picture" });
    blob("data", { class: context.class, key: context.key, property: context.property })
      .then((found) => {
        const address = URL.createObjectURL(found);
        picture.addEventListener("load", () => URL.revokeObjectURL(address));
        picture.setAttribute("src", address);
      }).catch(complain);
    element.append(picture);
  }
  element.append(h("details", { ...(node.picture ? {} : { open: true }) },
    h("summary", { text: bytes(node.n) + (node.n > data.length ? `, the first ${data.length} shown` : "") }),
    h("pre", { class: "hex", text: hexLines(data) })));
  if (context.isTop) element.append(h("button", {
    type: "button", class: "small", text: "Save as a file",
    onclick: async () => {
      try { save(await blob("data", context.place), `${context.class}-${context.key}-${context.property}`); } catch (error) { complain(error); }
    },
  }));
  return element;
}

/** Lets the reader store bytes as a file. */
export function save(found, name) {
  const address = URL.createObjectURL(found);
  const anchor = h("a", { href: address, download: name.replace(/[^\p{L}\p{N}._-]+/gu, "_") });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

function linkElement(node, context) {
  return h("button", {
    type: "button", class: "link", title: `${node.class} #${node.key}`,
    onclick: () => context.follow({ class: node.class, key: node.key }),
  }, icon("link"), h("span", { text: node.v }), h("span", { class: "hint", text: node.class }));
}

function embeddedElement(node, context) {
  return h("div", { class: "nested" }, h("span", { class: "tag", text: node.class }),
    h("dl", { class: "values" }, node.properties.map(([name, value]) => [
      h("dt", { text: name }), h("dd", {}, nodeElement(value, { ...context, property: name, isTop: false }))])));
}

function collectionElement(node, context) {
  if (node.n === 0) return h("span", { class: "null", text: "empty" });
  const isMap = node.t === "map";
  const list = isMap ? h("dl", { class: "values" }) : h("ol", { class: "elements", start: 0 });
  const inner = { ...context, isTop: false };
  const append = (items) => items.forEach((item) => {
    if (isMap) list.append(h("dt", { text: item[0] }), h("dd", {}, nodeElement(item[1], inner)));
    else list.append(h("li", {}, nodeElement(item, inner)));
  });
  const first = isMap ? node.entries : node.items;
  append(first);
  let shown = first.length;
  const more = shown < node.n && context.isTop && context.isCollection && h("button", {
    type: "button", class: "small",
    onclick: async () => {
      try {
        const answer = await get("elements", { ...context.place, offset: shown, limit: 200 });
        append(answer.items);
        shown += answer.items.length;
        if (shown >= answer.n || answer.items.length === 0) more.remove();
        else label();
      } catch (error) { complain(error); }
    },
  });
  const label = () => { more.textContent = `${count(node.n - shown)} more`; };
  if (more) label();
  const words = { list: "element", set: "value", map: "entry" };
  return h("details", { class: "collection", ...(node.n <= 12 || context.isTop ? { open: true } : {}) },
    h("summary", { text: plural(node.n, words[node.t], isMap ? "entries" : undefined) }), list, more,
    shown < node.n && !more && h("p", { class: "hint", text: `${count(node.n - shown)} more are not shown.` }));
}

export const copyButton = (text, what) => h("button", {
  type: "button", class: "small copy", text: "Copy", "aria-label": `Copy ${what}`, onclick: () => copy(text, what),
});
