// SPDX-License-Identifier: Apache-2.0
// Follows the commits of other processes: waits for another version, and lets the page show it, no faster than the page
// can. The version is an older one if the file was replaced.

import { get } from "./api.js";
import { emit, reload, state } from "./state.js";

const pause = 250;
const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/**
 * `show(change)` loads what is in view; the next change waits for it. A change that could not be shown is shown again.
 * The event "trouble" has the error as long as there is one.
 */
export async function follow(show) {
  let version = state.database.version;
  for (;;) {
    // A page in the background shows the newest version when it comes back.
    while (document.hidden) await sleep(500);
    try {
      const change = await get("changes", { after: version, wait: 20_000 });
      if (change.version !== version) {
        for (const each of change.classes) {
          const known = state.database.classes.find((other) => other.name === each.name);
          if (known) known.objects = each.objects;
        }
        state.database.version = change.version;
        if (change.schema) await reload();
        const start = performance.now();
        await show(change);
        version = change.version;
        emit("trouble", null);
        await sleep(Math.max(pause, performance.now() - start));
      } else emit("trouble", null);
    } catch (error) {
      if (error.status === 401) return emit("refused", error);
      emit("trouble", error);
      await sleep(2_000);
    }
  }
}
