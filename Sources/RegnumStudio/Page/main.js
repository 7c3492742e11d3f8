// SPDX-License-Identifier: Apache-2.0
// Puts the page together: the bar at the top, the view of the route, the panel, and live changes.

import { h, byId, icon, iconButton, put, redraw } from "./dom.js";
import { bytes, count, plural, time } from "./format.js";
import { focus, listenToKeys, showKeys } from "./commands.js";
import { newObject, removeObjects, setEditing, undo } from "./editor.js";
import { exportRows, importRows } from "./exchange.js";
import { drawSchema } from "./graph.js";
import { Grid } from "./grid.js";
import { follow } from "./live.js";
import { drawMaintenance } from "./maintenance.js";
import { complain, menu } from "./overlay.js";
import { drawPanel, isPanelOpen } from "./panel.js";
import { QueryBox } from "./query.js";
import { Rows } from "./rows.js";
import { closeDrawer, drawSidebar, focusClasses, isDrawerOpen, toggleDrawer } from "./sidebar.js";
import { arrive, classNamed, closeObject, go, on, reload, settings, showObject, state } from "./state.js";

/** The error because of which the page may not show the newest version. */
let trouble = null;

const troubleTitle = () => (trouble === null ? "" : trouble.status === 0 ? "Not connected" : "Not updated");

function setTrouble(error) {
  const before = troubleTitle();
  trouble = error;
  if (troubleTitle() === before) return;
  drawTop();
  if (error && error.status !== 0) complain(error);
}

// The bar at the top

let topDrawn = "";

/** Draws the bar. If only the version differs, only that is set, so that focus and clicks are not lost. */
function drawTop() {
  const { name, bytes: size, isEditing, allowsEditing, undo: steps, note, version } = state.database;
  const facts = `${bytes(size)}, version ${count(version)}${note ? `. ${note}` : ""}`;
  const now = JSON.stringify([name, isEditing, allowsEditing, steps, troubleTitle()]);
  if (now === topDrawn) {
    byId("top").querySelector(".file .hint").textContent = facts;
    return;
  }
  topDrawn = now;
  document.body.classList.toggle("is-editing", isEditing);
  document.title = `${name} – Regnum Studio`;
  redraw(byId("top"), () => put(byId("top"),
    iconButton("menu", "Classes", toggleDrawer, { class: "quiet narrow-only" }),
    h("div", { class: "file" }, h("strong", { text: name }), h("span", { class: "hint", text: facts })),
    trouble !== null && h("span", { class: "badge offline", role: "alert", title: trouble.message, text: troubleTitle() }),
    h("span", { class: "spacer" }),
    isEditing && h("button", { type: "button", class: "quiet", disabled: steps.length === 0, title: steps[0] ? `Undo: ${steps[0]} (u)` : "Nothing to undo", onclick: () => undo() }, icon("undo"), h("span", { class: "wide-only", text: "Undo" })),
    h("button", {
      type: "button", class: isEditing ? "badge editing" : "badge", id: "mode", "aria-pressed": String(isEditing), disabled: !allowsEditing,
      title: !allowsEditing ? "This file is shown only" : isEditing ? "Each change is stored at once. Switch to reading (e)" : "Nothing can be changed. Switch to editing (e)",
      onclick: () => setEditing(!isEditing),
    }, icon(isEditing ? "pen" : "lock"), isEditing ? "Editing" : "Read-only"),
    iconButton("sun", "Light, dark, or as the system", changeTheme, { class: "quiet wide-only" }),
    iconButton("help", "Keys (?)", showKeys)));
}

const themes = ["", "light", "dark"];

function changeTheme() {
  const now = document.documentElement.dataset.theme ?? "";
  const next = themes[(themes.indexOf(now) + 1) % themes.length];
  document.documentElement.dataset.theme = next;
  try { localStorage.setItem("regnum-studio-theme", next); } catch { /* the browser stores nothing */ }
}

// The view of a class

const view = { rows: null, columns: [] };

const grid = new Grid({
  open: (object) => (object.class ? showObject(object) : showObject({ class: state.route.name, key: object.key })),
  sort: (name) => {
    const { sort, descending } = state.route;
    const next = sort !== name ? { sort: name, descending: false } : descending ? { sort: "", descending: false } : { sort: name, descending: true };
    go({ ...state.route, ...next });
  },
  resize: (name, width) => saveColumns((columns) => { columns.widths[name] = width; }),
  move: (name, before) => {
    const names = view.columns.map((column) => column.property.name);
    // Anything may be dropped on a column.
    if (name === before || !names.includes(name)) return;
    const order = names.filter((each) => each !== name);
    order.splice(order.indexOf(before), 0, name);
    saveColumns((columns) => { columns.order = order; });
    applyColumns();
  },
  remove: (keys) => removeObjects(state.route.name, keys),
});

// The states of a text while it is typed are one place in the history.
const query = new QueryBox(
  (text, isTyping) => go({ ...state.route, query: text }, { replace: isTyping && state.route.query !== "" }),
  () => view.rows?.microseconds ?? 0);
const status = h("div", { class: "status", role: "status" });
const actions = h("div", { class: "actions" });
const empty = h("div", { class: "empty", hidden: true });
const classView = h("div", { class: "class-view" }, h("div", { class: "bar-line" }, h("h1", {}), actions), query.element, h("div", { class: "grid-frame" }, grid.element, empty), status);

const columnsName = () => `columns:${state.route.name}`;
const readColumns = () => settings.read(columnsName(), { order: [], hidden: [], widths: {} });

function saveColumns(change) {
  const columns = readColumns();
  change(columns);
  settings.write(columnsName(), columns);
}

function columnsOf(description) {
  const saved = readColumns();
  const place = (name) => { const index = saved.order.indexOf(name); return index < 0 ? Infinity : index; };
  // A property may be named `constructor`.
  const width = (property) => (Object.hasOwn(saved.widths, property.name) ? saved.widths[property.name] : standardWidth(property));
  return description.properties
    .map((property, index) => ({ property, index, width: width(property) }))
    .filter((column) => !saved.hidden.includes(column.property.name))
    .sort((a, b) => (place(a.property.name) === place(b.property.name) ? a.index - b.index : place(a.property.name) - place(b.property.name)));
}

function standardWidth(property) {
  if (property.collection !== "none") return 190;
  const widths = { Bool: 84, Int: 104, Float: 104, Double: 116, Date: 200, UUID: 290, ObjectId: 210, Data: 110, String: 200, Decimal128: 150 };
  return Math.max(Object.hasOwn(widths, property.type) ? widths[property.type] : 170, Math.min(240, 44 + property.name.length * 8));
}

function applyColumns() {
  view.columns = columnsOf(classNamed(state.route.name));
  grid.setColumns(view.columns, state.route);
}

function columnMenu(button) {
  const description = classNamed(state.route.name);
  const hidden = new Set(readColumns().hidden);
  const shift = (name, step) => {
    const order = columnsOf({ properties: description.properties }).map((column) => column.property.name);
    const index = order.indexOf(name);
    if (index < 0 || index + step < 0 || index + step >= order.length) return;
    order.splice(index, 1);
    order.splice(index + step, 0, name);
    saveColumns((columns) => { columns.order = order; });
    applyColumns();
    button.click();
    button.click();
  };
  const ordered = [...view.columns.map((column) => column.property), ...description.properties.filter((property) => hidden.has(property.name))];
  menu(button, "Columns", [ordered.map((property) => h("div", { class: "menu-row" },
    h("label", { class: "item" }, h("input", {
      type: "checkbox", checked: !hidden.has(property.name), onchange: (event) => {
        saveColumns((columns) => { columns.hidden = event.target.checked ? columns.hidden.filter((name) => name !== property.name) : [...columns.hidden, property.name]; });
        applyColumns();
      },
    }), property.name),
    iconButton("up", `Move ${property.name} to the left`, () => shift(property.name, -1)),
    iconButton("down", `Move ${property.name} to the right`, () => shift(property.name, 1)))),
  h("button", { type: "button", class: "item", text: "All columns in the order of the file", onclick: () => {
    settings.write(columnsName(), undefined);
    document.querySelector(".menu")?.remove();
    applyColumns();
  } })]);
}

function drawActions() {
  const description = classNamed(state.route.name);
  const isEditing = state.database.isEditing && !description.isEmbedded;
  put(classView.querySelector("h1"), description.name, description.isEmbedded && h("span", { class: "tag", text: "embedded" }));
  put(actions,
    isEditing && h("button", { type: "button", class: "primary small", onclick: () => newObject(description.name) }, icon("plus"), "New"),
    isEditing && h("button", { type: "button", class: "quiet", title: "Import", onclick: () => importRows(description.name) }, icon("upload"), h("span", { class: "wide-only", text: "Import" })),
    h("button", { type: "button", class: "quiet", title: "Export", onclick: () => exportRows(description.name, view.rows, view.columns.map((column) => column.property.name)) }, icon("download"), h("span", { class: "wide-only", text: "Export" })),
    h("button", { type: "button", class: "quiet", title: "Columns", onclick: (event) => columnMenu(event.currentTarget) }, icon("columns"), h("span", { class: "wide-only", text: "Columns" })));
}

function drawStatus() {
  const { rows } = view;
  const all = classNamed(state.route.name)?.objects ?? 0;
  status.textContent = rows.source.query && rows.count !== all ? `${count(rows.count)} of ${plural(all, "object")}, in ${time(rows.microseconds)}` : `${plural(rows.count, "object")}, in ${time(rows.microseconds)}`;
  empty.hidden = rows.count > 0;
  empty.textContent = rows.source.query ? "No object matches the query." : "This class has no objects.";
}

async function showClass(isSame) {
  const { name, query: text, sort, descending } = state.route;
  const description = classNamed(name);
  const main = byId("main");
  if (!description) return put(main, h("div", { class: "page" }, h("p", { class: "empty", text: `There is no class '${name}'.` })));
  if (!main.contains(classView)) put(main, classView);
  settings.write(`place:${name}`, { query: text, sort, descending });
  query.show(name, text);
  drawActions();
  if (isSame) return;
  const rows = new Rows({ class: name, query: text, sort, descending: descending ? "1" : "" }, {
    changed() {
      if (rows !== view.rows) return;
      grid.draw();
      drawStatus();
    },
    failed: complain,
    outdated() { if (rows === view.rows) grid.refresh().then(drawStatus).catch(complain); },
  });
  view.columns = columnsOf(description);
  try {
    const before = view.rows;
    view.rows = rows;
    if (!before || before.source.class !== name) grid.show(name, view.columns, rows, state.route);
    await rows.first();
    if (rows !== view.rows) return;
    grid.show(name, view.columns, rows, state.route);
  } catch (error) {
    if (rows !== view.rows) return;
    grid.show(name, view.columns, rows, state.route);
    drawStatus();
    if (error.reason === "query") query.fail(error);
    else complain(error);
  }
}

// The route

function isSameGrid(a, b) {
  return a.view === "class" && b.view === "class" && a.name === b.name && a.query === b.query && a.sort === b.sort && a.descending === b.descending;
}

function drawRoute({ before, now }) {
  const main = byId("main");
  if (now.view === "none") {
    const first = state.database.classes.find((each) => !each.isEmbedded) ?? state.database.classes[0];
    if (first) return go({ view: "class", name: first.name, query: "", sort: "" }, { replace: true });
    put(main, h("div", { class: "page" }, h("p", { class: "empty", text: "The file has no classes yet. They appear here when a program adds them." })));
  }
  drawSidebar();
  if (now.view === "class") showClass(isSameGrid(before, now) && main.contains(classView));
  else if (now.view === "schema") drawSchema(main);
  else if (now.view === "maintenance") drawMaintenance(main);
  drawPanel();
}

/** Shows a newer version: what is in view, and nothing else. */
async function showChange(change) {
  drawTop();
  drawSidebar();
  const { route } = state;
  const names = change.classes?.map((each) => each.name);
  if (change.schema && route.view !== "class") drawRoute({ before: { view: "none" }, now: route });
  if (route.view === "class" && classNamed(route.name) && view.rows) {
    if (change.schema) await showClass(false);
    // A query over links may change with another class.
    else if (!names || names.includes(route.name) || route.query.includes(".") || hasLinks(route.name)) {
      await grid.refresh();
      drawStatus();
    }
  }
  if (route.object) await drawPanel({ keepsPlace: true, classes: names });
}

const hasLinks = (name) => classNamed(name).properties.some((property) => property.isLink);

function refuse(error) {
  document.body.className = "refused";
  put(byId("main"), h("div", { class: "page" }, h("h1", { text: "Regnum Studio" }), h("p", { class: "problem", text: error.message })));
}

async function start() {
  try { document.documentElement.dataset.theme = localStorage.getItem("regnum-studio-theme") ?? ""; } catch { /* as the system */ }
  byId("skip").addEventListener("click", (event) => { event.preventDefault(); focus("main"); });
  try { await reload(); } catch (error) { return refuse(error); }
  on("database", () => { drawTop(); drawSidebar(); });
  on("mode", () => { drawTop(); if (state.route.view === "class" && classNamed(state.route.name)) drawActions(); if (isPanelOpen()) drawPanel({ keepsPlace: true }); });
  on("route", drawRoute);
  on("refresh", async () => { try { await showChange({}); } catch (error) { complain(error); } });
  on("object", () => drawPanel({ keepsPlace: true }));
  on("trouble", setTrouble);
  on("refused", refuse);
  addEventListener("popstate", arrive);
  // A click beside the open drawer only closes it.
  byId("main").addEventListener("click", (event) => {
    if (!isDrawerOpen()) return;
    event.preventDefault();
    event.stopPropagation();
    closeDrawer();
  }, true);
  listenToKeys({
    "/": () => focus("query"), g: () => grid.element.focus(), p: () => byId("panel").querySelector("button, summary")?.focus(),
    c: focusClasses, "[": () => history.back(), "]": () => history.forward(),
    s: () => go({ view: "schema" }), m: () => go({ view: "maintenance" }), "?": showKeys,
    e: () => { if (state.database.allowsEditing) setEditing(!state.database.isEditing); },
    u: () => { if (state.database.isEditing) undo(); },
    n: () => { if (state.database.isEditing && state.route.view === "class" && !classNamed(state.route.name)?.isEmbedded) newObject(state.route.name); },
    Escape: () => (isDrawerOpen() ? closeDrawer() : closeObject()),
  });
  drawTop();
  arrive();
  follow(showChange);
}

start();
