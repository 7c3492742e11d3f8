// SPDX-License-Identifier: Apache-2.0
// Follows the commits of other processes: waits for a newer version, and lets the page show it, no faster than the page
// can.

import { get } from "./api.js";
import { emit, reload, state } from "./state.js";

const pause = 250;
const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** `show(change)` loads what is in view; the next change waits for it. */
export async function follow(show) {
  let version = state.database.version;
  for (;;) {
    // A page in the background shows the newest version when it comes back.
    while (document.hidden) await sleep(500);
    try {
      const change = await get("changes", { after: version, wait: 20_000 });
      emit("online", true);
      if (change.version > version) {
        version = change.version;
        for (const each of change.classes) {
          const known = state.database.classes.find((other) => other.name === each.name);
          if (known) known.objects = each.objects;
        }
        state.database.version = version;
        if (change.schema) await reload();
        const start = performance.now();
        await show(change);
        await sleep(Math.max(pause, performance.now() - start));
      }
    } catch (error) {
      emit("online", false, error);
      if (error.status === 401) return emit("refused", error);
      await sleep(2_000);
    }
  }
}
