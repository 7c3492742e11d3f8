// SPDX-License-Identifier: Apache-2.0
// The grid: shows the rows in view only. The first row in view is a number of its own, as a browser cannot scroll as far
// as millions of rows are high: beyond a height the bar stands for the whole, and the wheel moves row by row.

import { h, icon, put } from "./dom.js";
import { bytes, count, field } from "./format.js";
import { complain, copy, toast } from "./overlay.js";
import { cellContent, isNumber, isSortable } from "./values.js";

const rowHeight = 28;
const heightLimit = 8_000_000;
const gutter = 64;
const copyLimit = 10_000;
/** The number of characters that are copied at most. */
const copyLength = 64_000_000;

export class Grid {
  /** `handlers`: open(object), sort(property), resize(name, width), move(name, before), remove(keys). */
  constructor(handlers) {
    this.handlers = handlers;
    this.head = h("div", { class: "row head", role: "row", "aria-rowindex": 1 });
    this.body = h("div", { class: "grid-body", role: "rowgroup" });
    this.element = h("div", {
      class: "grid", role: "grid", tabindex: 0, "aria-multiselectable": "true",
      onscroll: () => this.scrolled(), onkeydown: (event) => this.pressed(event),
    }, h("div", { role: "rowgroup", class: "grid-head" }, this.head), this.body);
    this.body.addEventListener("pointerdown", (event) => this.pointed(event));
    this.body.addEventListener("click", (event) => this.clicked(event));
    this.drawn = new Map();
    this.rows = null;
    this.first = 0;
    this.active = { row: 0, column: 0 };
    this.anchor = null;
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  /** Shows other rows and columns. Columns are {property, index, width}. */
  show(name, columns, rows, order) {
    this.rows = rows;
    this.first = 0;
    this.active = { row: 0, column: 0 };
    this.anchor = null;
    this.element.scrollTop = 0;
    this.lastTop = 0;
    this.element.setAttribute("aria-label", `Objects of ${name}`);
    this.setColumns(columns, order);
  }

  setColumns(columns, order) {
    this.columns = columns;
    this.active.column = Math.min(this.active.column, Math.max(0, columns.length - 1));
    this.element.setAttribute("aria-colcount", columns.length + 1);
    put(this.head, h("div", { class: "cell gutter", role: "columnheader", "aria-colindex": 1, text: "#", title: "The number of the object" }),
      columns.map((column, index) => this.headCell(column, index, order)));
    this.setWidths();
    this.clear();
    this.draw();
  }

  setWidths() {
    const width = gutter + this.columns.reduce((sum, column) => sum + column.width, 0);
    this.element.style.setProperty("--columns", [gutter, ...this.columns.map((column) => column.width)].map((each) => each + "px").join(" "));
    this.element.style.setProperty("--width", width + "px");
  }

  headCell({ property }, index, order) {
    const isSorted = order.sort === property.name;
    const isDescending = isSorted && order.descending;
    const label = [
      property.isPrimaryKey ? icon("key") : (property.isIndexed || property.isContentIndexed) && icon("index"),
      h("span", { class: "name", text: property.name }), isSorted && icon(isDescending ? "down" : "up"),
    ];
    const grip = h("span", { class: "grip", "aria-hidden": "true", onpointerdown: (event) => this.resize(event, index) });
    const cell = h("div", {
      class: isNumber(property) ? "cell number" : "cell", role: "columnheader", title: `${property.name}: ${property.text}`,
      "aria-colindex": index + 2, "aria-sort": isSorted ? (isDescending ? "descending" : "ascending") : null,
      draggable: "true",
      ondragstart: (event) => (this.isResizing ? event.preventDefault() : event.dataTransfer.setData("text/plain", property.name)),
      ondragover: (event) => event.preventDefault(),
      ondrop: (event) => { event.preventDefault(); this.handlers.move(event.dataTransfer.getData("text/plain"), property.name); },
    }, isSortable(property)
      ? h("button", { type: "button", tabindex: -1, onclick: () => this.handlers.sort(property.name) }, label)
      : h("span", { class: "label" }, label), grip);
    return cell;
  }

  widen(index, step) {
    const column = this.columns[index];
    if (!column) return;
    column.width = Math.max(48, Math.min(900, column.width + step));
    this.setWidths();
    this.handlers.resize(column.property.name, column.width);
  }

  resize(event, index) {
    event.preventDefault();
    event.stopPropagation();
    this.isResizing = true;
    const [start, width] = [event.clientX, this.columns[index].width];
    const move = (moved) => {
      this.columns[index].width = Math.max(48, Math.min(900, width + moved.clientX - start));
      this.setWidths();
    };
    const end = () => {
      this.isResizing = false;
      document.removeEventListener("pointermove", move);
      document.removeEventListener("pointerup", end);
      this.handlers.resize(this.columns[index].property.name, this.columns[index].width);
    };
    document.addEventListener("pointermove", move);
    document.addEventListener("pointerup", end);
  }

  // Scrolling

  get viewHeight() { return Math.max(rowHeight, this.element.clientHeight - rowHeight); }
  get viewRows() { return Math.max(1, Math.floor(this.viewHeight / rowHeight)); }
  get isScaled() { return this.rows.count * rowHeight > heightLimit; }
  get height() { return Math.min(heightLimit, this.rows.count * rowHeight); }
  get lastFirst() { return Math.max(0, this.rows.count - this.viewHeight / rowHeight); }

  /** The position of the bar for the first row in view. */
  get barTop() {
    if (!this.isScaled) return this.first * rowHeight;
    return this.lastFirst === 0 ? 0 : (this.first / this.lastFirst) * (this.height - this.viewHeight);
  }

  scrolled() {
    if (!this.rows) return;
    const top = this.element.scrollTop;
    const step = top - this.lastTop;
    if (!this.isScaled) this.first = top / rowHeight;
    else if (Math.abs(step) <= this.viewHeight) this.first += step / rowHeight;
    else this.first = (top / Math.max(1, this.height - this.viewHeight)) * this.lastFirst;
    this.first = Math.max(0, Math.min(this.lastFirst, this.first));
    this.lastTop = top;
    if (this.isScaled) {
      clearTimeout(this.settling);
      this.settling = setTimeout(() => this.scrollTo(this.first), 150);
    }
    this.draw();
  }

  /** Makes a row the first in view. */
  scrollTo(first) {
    this.first = Math.max(0, Math.min(this.lastFirst, first));
    this.draw();
    this.element.scrollTop = this.barTop;
    this.lastTop = this.element.scrollTop;
    this.draw();
  }

  reveal(row) {
    if (row < this.first) this.scrollTo(row);
    else if (row > this.first + this.viewRows - 1) this.scrollTo(row - this.viewRows + 1);
    else this.draw();
  }

  // Drawing

  clear() {
    for (const element of this.drawn.values()) element.remove();
    this.drawn.clear();
  }

  /** Draws the rows in view. `before` has the cells that the objects in view had in the last version. */
  draw(before) {
    if (!this.rows || !this.columns) return;
    this.element.setAttribute("aria-rowcount", this.rows.count + 1);
    this.body.style.setProperty("height", `${this.height}px`);
    const start = Math.max(0, Math.floor(this.first) - 4);
    const end = Math.min(this.rows.count, Math.ceil(this.first) + this.viewRows + 6);
    for (const [position, element] of this.drawn) if (position < start || position >= end) {
      element.remove();
      this.drawn.delete(position);
    }
    const origin = this.isScaled ? this.element.scrollTop - this.first * rowHeight : 0;
    for (let position = start; position < end; position += 1) {
      let element = this.drawn.get(position);
      const row = this.rows.at(position);
      if (!element) {
        element = h("div", { class: "row", role: "row", id: `row-${position}`, "aria-rowindex": position + 2 });
        this.drawn.set(position, element);
        this.body.append(element);
      }
      if (element.shown !== row || !element.firstChild) this.fill(element, position, row, before);
      element.style.setProperty("transform", `translateY(${Math.round(origin + position * rowHeight)}px)`);
    }
    this.mark();
  }

  fill(element, position, row, before) {
    element.shown = row;
    element.classList.toggle("waiting", !row);
    if (!row) {
      put(element, h("div", { class: "cell gutter", role: "rowheader", "aria-colindex": 1 }));
      return;
    }
    const old = before?.get(row.key);
    element.classList.toggle("added", Boolean(before && before.size > 0 && !old));
    put(element, h("div", { class: "cell gutter", role: "rowheader", "aria-colindex": 1, text: row.key }),
      this.columns.map(({ property, index }, column) => {
        const cell = row.cells[index];
        const [content, kind] = cellContent(cell, property);
        const isChanged = old && JSON.stringify(old[index]) !== JSON.stringify(cell);
        return h("div", {
          class: `cell ${kind}${isNumber(property) ? " number" : ""}${isChanged ? " changed" : ""}`, role: "gridcell",
          id: `cell-${position}-${column}`, "aria-colindex": column + 2,
        }, content);
      }));
  }

  /** Marks the selected cells and the active one. */
  mark() {
    const range = this.range();
    for (const [position, element] of this.drawn) {
      const isInside = position >= range.top && position <= range.bottom;
      [...element.children].forEach((cell, index) => {
        const isSelected = isInside && index - 1 >= range.left && index - 1 <= range.right && this.hasRange;
        const isActive = position === this.active.row && index - 1 === this.active.column;
        cell.classList.toggle("selected", isSelected);
        cell.classList.toggle("active", isActive);
        if (index > 0) cell.setAttribute("aria-selected", isSelected || isActive);
      });
      element.classList.toggle("current", position === this.active.row);
    }
    const id = `cell-${this.active.row}-${this.active.column}`;
    if (this.drawn.has(this.active.row)) this.element.setAttribute("aria-activedescendant", id);
    else this.element.removeAttribute("aria-activedescendant");
  }

  get hasRange() { return this.anchor !== null; }

  range() {
    const from = this.anchor ?? this.active;
    return {
      top: Math.min(from.row, this.active.row), bottom: Math.max(from.row, this.active.row),
      left: Math.min(from.column, this.active.column), right: Math.max(from.column, this.active.column),
    };
  }

  // A new version

  /**
   * Loads the newest version, keeps the rows in view where they are and the selection on its objects, and marks the
   * changed cells.
   */
  async refresh() {
    const before = new Map();
    for (const element of this.drawn.values()) if (element.shown) before.set(element.shown.key, element.shown.cells);
    const top = Math.floor(this.first);
    const old = this.rows.at(top);
    const rows = this.rows;
    const selected = [];
    const position = await rows.refresh(old?.key, top, this.viewRows + 10, () => {
      for (const place of [this.active, this.anchor]) if (place) selected.push({ place, key: rows.peek(place.row)?.key });
    });
    if (rows !== this.rows) return;
    const step = position - top;
    this.first = Math.max(0, Math.min(this.lastFirst, this.first + step));
    for (const { place, key } of selected) {
      const found = key === undefined ? undefined : rows.find(key);
      // A range that has lost one of its ends would select other objects than the reader has seen.
      if (key !== undefined && found === undefined) this.anchor = null;
      place.row = Math.max(0, Math.min(rows.count - 1, found ?? place.row + step));
    }
    this.clear();
    this.draw(before);
    if (step !== 0) this.scrollTo(this.first);
  }

  // Pointer and keys

  placeOf(event) {
    const cell = event.target.closest?.(".cell");
    const row = cell?.parentElement;
    if (!row?.id?.startsWith("row-")) return null;
    return { row: Number(row.id.slice(4)), column: [...row.children].indexOf(cell) - 1 };
  }

  pointed(event) {
    const place = this.placeOf(event);
    if (!place || event.button !== 0) return;
    const isGutter = place.column < 0;
    const target = isGutter ? { row: place.row, column: this.columns.length - 1 } : place;
    if (event.shiftKey) this.anchor ??= isGutter ? { row: this.active.row, column: 0 } : { ...this.active };
    else this.anchor = isGutter ? { row: place.row, column: 0 } : null;
    if (event.shiftKey) event.preventDefault();
    this.active = target;
    this.mark();
    if (event.pointerType === "touch" || isGutter) return;
    const move = (moved) => {
      const over = this.placeOf(moved);
      if (!over || over.column < 0) return;
      if (over.row === this.active.row && over.column === this.active.column) return;
      this.anchor ??= place;
      this.active = over;
      this.mark();
    };
    const end = () => {
      document.removeEventListener("pointermove", move);
      document.removeEventListener("pointerup", end);
    };
    document.addEventListener("pointermove", move);
    document.addEventListener("pointerup", end);
  }

  clicked(event) {
    const link = event.target.closest?.(".link");
    if (link) return this.handlers.open({ class: link.dataset.class, key: Number(link.dataset.key) });
    const place = this.placeOf(event);
    if (place && !this.hasRange) this.openActive();
  }

  openActive() {
    const row = this.rows.at(this.active.row);
    if (row) this.handlers.open({ key: row.key });
  }

  pressed(event) {
    if (event.target !== this.element || !this.rows) return;
    const page = Math.max(1, this.viewRows - 1);
    const isFar = event.ctrlKey || event.metaKey;
    const last = this.rows.count - 1;
    const moves = {
      ArrowUp: [isFar ? -Infinity : -1, 0], ArrowDown: [isFar ? Infinity : 1, 0],
      ArrowLeft: [0, isFar ? -Infinity : -1], ArrowRight: [0, isFar ? Infinity : 1],
      PageUp: [-page, 0], PageDown: [page, 0],
      Home: isFar ? [-Infinity, -Infinity] : [0, -Infinity], End: isFar ? [Infinity, Infinity] : [0, Infinity],
    };
    const move = moves[event.key];
    if (move) {
      event.preventDefault();
      if (event.shiftKey) this.anchor ??= { ...this.active };
      else this.anchor = null;
      this.active = {
        row: Math.max(0, Math.min(last, this.active.row + move[0])),
        column: Math.max(0, Math.min(this.columns.length - 1, this.active.column + move[1])),
      };
      this.reveal(this.active.row);
      this.revealColumn();
    } else if (isFar && event.key.toLowerCase() === "c") {
      event.preventDefault();
      this.copySelection();
    } else if (isFar && event.key.toLowerCase() === "a") {
      event.preventDefault();
      this.anchor = { row: 0, column: 0 };
      this.active = { row: Math.max(0, last), column: this.columns.length - 1 };
      this.mark();
    } else if (event.key === "Enter") {
      event.preventDefault();
      const link = event.altKey && this.drawn.get(this.active.row)?.children[this.active.column + 1]?.querySelector(".link");
      if (link) this.handlers.open({ class: link.dataset.class, key: Number(link.dataset.key) });
      else this.openActive();
    } else if (event.key === "o" && !isFar) {
      event.preventDefault();
      const property = this.columns[this.active.column]?.property;
      if (property && isSortable(property)) this.handlers.sort(property.name);
    } else if ((event.key === "<" || event.key === ">") && !isFar) {
      event.preventDefault();
      this.widen(this.active.column, event.key === ">" ? 24 : -24);
    } else if (event.key === "Delete") {
      this.removeSelected();
    } else if (event.key === "Escape" && this.hasRange) {
      event.stopPropagation();
      this.anchor = null;
      this.mark();
    }
  }

  revealColumn() {
    const start = this.columns.slice(0, this.active.column).reduce((sum, column) => sum + column.width, 0);
    const end = start + (this.columns[this.active.column]?.width ?? 0);
    const view = this.element.clientWidth - gutter;
    if (start < this.element.scrollLeft) this.element.scrollLeft = start;
    else if (end > this.element.scrollLeft + view) this.element.scrollLeft = end - view;
  }

  /** Copies the selected cells as lines of fields with tabs between them, as spreadsheets take them. */
  async copySelection() {
    const range = this.range();
    const length = range.bottom - range.top + 1;
    if (length > copyLimit) return toast(`At most ${count(copyLimit)} rows are copied at once: export them instead.`, { isError: true });
    const columns = this.columns.slice(range.left, range.right + 1).map(({ property }) => property.name);
    let rows = [];
    // The cells of the grid are cut: what is copied is asked for whole.
    try { rows = await this.rows.range(range.top, range.bottom + 1, { columns }); } catch (error) { return complain(error); }
    const isCell = rows.length === 1 && columns.length === 1;
    const text = isCell ? rows[0].cells[0] ?? "" : rows.map(({ cells }) => cells.map((cell) => field(cell ?? "")).join("\t")).join("\n");
    if (text.length > copyLength) return toast(`The cells have ${bytes(text.length)}: export them instead.`, { isError: true });
    await copy(text, isCell ? "the cell" : `${count(rows.length)} rows`);
  }

  async removeSelected() {
    const range = this.range();
    if (range.bottom - range.top + 1 > copyLimit) return toast(`At most ${count(copyLimit)} objects are deleted at once.`, { isError: true });
    try {
      const rows = await this.rows.range(range.top, range.bottom + 1, { isExact: true });
      this.handlers.remove(rows.map((row) => row.key));
    } catch (error) { complain(error); }
  }
}
