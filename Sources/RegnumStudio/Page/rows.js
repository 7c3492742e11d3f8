// SPDX-License-Identifier: Apache-2.0
// The rows of a grid: windows that are loaded as they are needed, and dropped again. A new version is loaded around an
// object, so that the same objects stay in view.

import { get, newTurn } from "./api.js";

const windowLength = 100;
const windowLimit = 40;

export class Rows {
  /** `changed` is called when rows have come, `outdated` when a window shows that there is a newer version. */
  constructor(source, { changed, failed, outdated }) {
    this.source = source;
    /** The scans of this grid end those of the grid before it. */
    this.turn = newTurn();
    this.changed = changed;
    this.failed = failed;
    this.outdated = outdated;
    this.count = 0;
    this.version = 0;
    this.microseconds = 0;
    this.windows = new Map();
    this.loading = new Map();
    /** Windows that could not be loaded: they are not asked for again before the next version. */
    this.broken = new Set();
    this.generation = 0;
  }

  /** The row at a position as {key, cells}; undefined if it is not loaded, which begins to load it. */
  at(position) {
    if (position < 0 || position >= this.count) return undefined;
    const number = Math.floor(position / windowLength);
    if (!this.windows.has(number)) this.load(number);
    return this.peek(position);
  }

  /** The row at a position, if it is loaded. */
  peek(position) {
    const number = Math.floor(position / windowLength);
    return this.windows.get(number)?.[position - number * windowLength];
  }

  /** The position of an object, if its row is loaded. */
  find(key) {
    for (const [number, rows] of this.windows) {
      const index = rows.findIndex((row) => row.key === key);
      if (index >= 0) return number * windowLength + index;
    }
    return undefined;
  }

  async first() {
    const generation = ++this.generation;
    this.windows.clear();
    this.loading.clear();
    this.broken.clear();
    const answer = await get("rows", { ...this.source, ...this.turn, offset: 0, limit: windowLength });
    if (generation === this.generation) this.take(answer, 0);
  }

  /** Keeps the rows of a window. */
  take(answer, number) {
    this.count = answer.count;
    this.version = answer.version;
    this.microseconds = answer.microseconds;
    this.windows.delete(number);
    this.windows.set(number, answer.rows.map(([key, cells]) => ({ key, cells })));
    if (this.windows.size > windowLimit) this.windows.delete(this.windows.keys().next().value);
    this.changed();
  }

  load(number) {
    if (this.loading.has(number) || this.broken.has(number)) return;
    // While a reader scrolls on, the windows that have gone by are not waited for.
    for (const [other, controller] of this.loading) if (Math.abs(other - number) > 2) {
      controller.abort();
      this.loading.delete(other);
    }
    const controller = new AbortController();
    this.loading.set(number, controller);
    const generation = this.generation;
    get("rows", { ...this.source, ...this.turn, offset: number * windowLength, limit: windowLength }, controller.signal)
      .then((answer) => {
        if (this.loading.get(number) === controller) this.loading.delete(number);
        if (generation !== this.generation) return;
        // All windows are of one version, and the view and the selection stay on their objects in the next one.
        if (answer.version === this.version) this.take(answer, number);
        else this.outdated();
      })
      .catch((error) => {
        if (this.loading.get(number) === controller) this.loading.delete(number);
        if (error.name === "AbortError" || generation !== this.generation) return;
        this.broken.add(number);
        this.failed(error);
      });
  }

  /**
   * Loads the newest version around an object, which was at `position`. Returns its new position; without the object
   * the old one, within the rows. `leave` is called just before the old rows are dropped.
   */
  async refresh(key, position, length, leave) {
    const generation = ++this.generation;
    const ask = { ...this.source, ...this.turn, limit: Math.min(500, length + 2 * windowLength) };
    if (key !== undefined) Object.assign(ask, { anchor: key, row: windowLength });
    let answer;
    try { answer = await get("rows", { ...ask, offset: Math.max(0, position - windowLength) }); } catch (error) {
      // The page shows another grid soon.
      if (error.reason === "superseded") return position;
      throw error;
    }
    if (generation !== this.generation) return position;
    leave();
    for (const controller of this.loading.values()) controller.abort();
    this.loading.clear();
    this.windows.clear();
    this.broken.clear();
    this.count = answer.count;
    this.version = answer.version;
    // Whole windows only.
    const rows = answer.rows.map(([key, cells]) => ({ key, cells }));
    const end = answer.offset + rows.length;
    for (let number = Math.ceil(answer.offset / windowLength); number * windowLength < end; number += 1) {
      const start = number * windowLength - answer.offset;
      const part = rows.slice(start, start + windowLength);
      if (part.length === windowLength || end === answer.count) this.windows.set(number, part);
    }
    return answer.anchor ?? Math.min(position, Math.max(0, answer.count - 1));
  }

  /**
   * The rows of a range, all of one version: rows of two could repeat an object, or lack one. If another process commits
   * meanwhile, the range is read again at the newer version; with `isExact`, which asks for the version that is shown, or
   * after three times, an `Error` says so. With `columns` the cells are the whole values of these properties as text.
   */
  async range(start, end, { isExact = false, columns } = {}) {
    const whole = columns && { columns: JSON.stringify(columns) };
    let { version } = this;
    let isShown = true;
    let rows = [];
    let restarts = 0;
    while (start + rows.length < end) {
      const offset = start + rows.length;
      const known = !whole && isShown && this.version === version ? this.peek(offset) : undefined;
      if (known) {
        rows.push(known);
        continue;
      }
      const answer = await get("rows", { ...this.source, ...this.turn, ...whole, offset, limit: Math.min(500, end - offset) });
      if (answer.version !== version || isShown && this.version !== version) {
        if (isExact || restarts === 3) {
          this.outdated();
          throw new Error("The rows have changed meanwhile: select them again.");
        }
        restarts += 1;
        version = answer.version;
        isShown = false;
        rows = [];
        continue;
      }
      if (answer.rows.length === 0) break;
      for (const [key, cells] of answer.rows) rows.push({ key, cells });
    }
    return rows;
  }
}
