// SPDX-License-Identifier: Apache-2.0
// The rows of a grid: windows that are loaded as they are needed, and dropped again. A new version is loaded around an
// object, so that the same objects stay in view.

import { get } from "./api.js";

const windowLength = 100;
const windowLimit = 40;

export class Rows {
  /** `changed` is called when rows have come. */
  constructor(source, changed, failed) {
    this.source = source;
    this.changed = changed;
    this.failed = failed;
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
    const rows = this.windows.get(number);
    if (!rows) {
      this.load(number);
      return undefined;
    }
    return rows[position - number * windowLength];
  }

  async first() {
    const generation = ++this.generation;
    this.windows.clear();
    this.loading.clear();
    this.broken.clear();
    const answer = await get("rows", { ...this.source, offset: 0, limit: windowLength });
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
    get("rows", { ...this.source, offset: number * windowLength, limit: windowLength }, controller.signal)
      .then((answer) => {
        if (generation !== this.generation) return;
        this.loading.delete(number);
        // A newer version has begun to be shown: the other windows are of an older one.
        if (answer.version !== this.version) this.windows.clear();
        this.take(answer, number);
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
   * the old one, within the rows.
   */
  async refresh(key, position, length) {
    const generation = ++this.generation;
    const ask = { ...this.source, limit: Math.min(500, length + 2 * windowLength) };
    if (key !== undefined) Object.assign(ask, { anchor: key, row: windowLength });
    const answer = await get("rows", { ...ask, offset: Math.max(0, position - windowLength) });
    if (generation !== this.generation) return position;
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

  /** The rows of a range, loaded for it. */
  async range(start, end) {
    const rows = [];
    for (let offset = start; offset < end; offset += 500) {
      const answer = await get("rows", { ...this.source, offset, limit: Math.min(500, end - offset) });
      for (const [key, cells] of answer.rows) rows.push({ key, cells });
    }
    return rows;
  }
}
