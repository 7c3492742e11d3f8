// SPDX-License-Identifier: Apache-2.0
// The schema: the classes as a graph of their links, then each class with its properties, indexes and rules.

import { h, icon, put, svg } from "./dom.js";
import { plural } from "./format.js";
import { go, state } from "./state.js";

const [boxWidth, lineHeight, headHeight, gapX, gapY] = [190, 17, 26, 90, 26];
const shownLinks = 9;

/** Places the classes in columns, so that most links lead to the right. */
export function layout(classes) {
  const names = new Set(classes.map((each) => each.name));
  const links = (each) => each.properties.filter((property) => property.isLink && names.has(property.type) && property.type !== each.name);
  const incoming = new Map(classes.map((each) => [each.name, 0]));
  for (const each of classes) for (const link of links(each)) incoming.set(link.type, incoming.get(link.type) + 1);
  const byName = new Map(classes.map((each) => [each.name, each]));
  const column = new Map();
  // Breadth first from the classes that nothing links to, then from what is left in cycles.
  const starts = [...classes].sort((a, b) => incoming.get(a.name) - incoming.get(b.name));
  for (const start of starts) {
    if (column.has(start.name)) continue;
    column.set(start.name, 0);
    const queue = [start];
    while (queue.length > 0) {
      const each = queue.shift();
      for (const link of links(each)) {
        if (column.has(link.type)) continue;
        column.set(link.type, column.get(each.name) + 1);
        queue.push(byName.get(link.type));
      }
    }
  }
  const columns = [];
  for (const each of classes) (columns[column.get(each.name)] ??= []).push(each);
  const boxes = new Map();
  columns.forEach((list, index) => {
    // Near the average height of what links here.
    const wanted = (each) => {
      const from = classes.filter((other) => boxes.has(other.name) && links(other).some((link) => link.type === each.name));
      return from.length === 0 ? Infinity : from.reduce((sum, other) => sum + boxes.get(other.name).y, 0) / from.length;
    };
    const sorted = list.map((each) => [wanted(each), each]).sort((a, b) => (a[0] === b[0] ? 0 : a[0] - b[0])).map(([, each]) => each);
    let y = 16;
    for (const each of sorted) {
      const lines = each.properties.filter((property) => property.isLink).slice(0, shownLinks);
      const height = headHeight + Math.max(1, lines.length) * lineHeight + 10;
      boxes.set(each.name, { x: 16 + index * (boxWidth + gapX), y, height, lines, description: each });
      y += height + gapY;
    }
  });
  return boxes;
}

function drawing(classes) {
  const boxes = layout(classes);
  let [width, height] = [0, 0];
  for (const box of boxes.values()) {
    width = Math.max(width, box.x + boxWidth + 50);
    height = Math.max(height, box.y + box.height + 16);
  }
  const edges = [];
  for (const box of boxes.values()) box.lines.forEach((property, index) => {
    const target = boxes.get(property.type);
    if (!target) return;
    const y = box.y + headHeight + index * lineHeight + 12;
    const isForward = target.x > box.x;
    const [fromX, toX] = [box.x + boxWidth, isForward ? target.x : target.x + boxWidth];
    const toY = target.y + headHeight / 2;
    const bend = isForward ? Math.max(30, (toX - fromX) / 2) : 40;
    const end = isForward ? toX - bend : toX + bend;
    edges.push(svg("path", {
      class: classes.find((each) => each.name === property.type)?.isEmbedded ? "edge embedded" : "edge",
      d: `M${fromX} ${y} C${fromX + bend} ${y} ${end} ${toY} ${toX} ${toY}`, "marker-end": "url(#arrow)",
    }));
  });
  const cut = (text, length) => (text.length > length ? text.slice(0, length - 1) + "…" : text);
  const signs = { none: "", list: "[ ]", set: "{ }", map: "[:]" };
  const shapes = [...boxes.values()].map((box) => svg("g", {
    class: box.description.isEmbedded ? "box embedded" : "box", transform: `translate(${box.x} ${box.y})`,
    onclick: () => document.getElementById("class-" + box.description.name)?.scrollIntoView({ block: "start", behavior: "smooth" }),
  }, svg("title", { text: box.description.name }),
  svg("rect", { width: boxWidth, height: box.height, rx: 6 }),
  svg("text", { x: 10, y: 18, class: "title", text: cut(box.description.name, 24) }),
  box.lines.length === 0 ? svg("text", { x: 10, y: headHeight + 15, class: "line", text: plural(box.description.properties.length, "property", "properties") })
    : box.lines.map((property, index) => svg("text", { x: 10, y: headHeight + index * lineHeight + 15, class: "line", text: cut(property.name, 20) + " " + signs[property.collection] }))));
  return svg("svg", { class: "graph", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "The classes and their links, which are listed below" },
    svg("defs", {}, svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" }, svg("path", { d: "M0 0L8 4L0 8z" }))),
    edges, shapes);
}

export function drawSchema(main) {
  const { classes, schemaVersion } = state.database;
  put(main, h("div", { class: "page" },
    h("h1", { text: "Schema" }),
    h("p", { class: "hint", text: `${plural(classes.length, "class", "classes")}, schema version ${schemaVersion ?? "not set"}` }),
    classes.length > 0 && h("div", { class: "graph-view", tabindex: 0, role: "region", "aria-label": "Graph of the classes" }, drawing(classes)),
    classes.map((each) => h("section", { class: "card", id: "class-" + each.name },
      h("header", {}, h("h2", { text: each.name }), each.isEmbedded && h("span", { class: "tag", text: "embedded" }),
        h("button", { type: "button", class: "small", text: plural(each.objects, "object"), onclick: () => go({ view: "class", name: each.name, query: "", sort: "" }) })),
      h("div", { class: "table-view" }, h("table", { class: "plain" },
        h("thead", {}, h("tr", {}, ["Property", "Type", "Index", "Rules"].map((text) => h("th", { text })))),
        h("tbody", {}, each.properties.map((property) => h("tr", {},
          h("td", { class: "code" }, property.name), h("td", { class: "code", text: property.text.split(", ")[0] }),
          h("td", {}, property.isPrimaryKey ? [icon("key"), " primary key"] : property.isIndexed ? [icon("index"), " indexed"] : property.isContentIndexed ? [icon("index"), " " + property.text.split(", ").pop()] : ""),
          h("td", { text: rules(property) })))))),
      each.uniques.length > 0 && h("p", { class: "hint" }, "Unique: ", each.uniques.map((names) => names.join(" + ")).join("; "))))));
}

function rules(property) {
  const found = [];
  if (property.onDelete !== "nullify") found.push(`on delete: ${property.onDelete}`);
  if (property.onTargetDelete !== "nullify") found.push(`when its target is deleted: ${property.onTargetDelete}`);
  return found.join(", ");
}
