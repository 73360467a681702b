import { createDenialWatch } from "../collector/log-tail/denial-watch.ts";
import type { Log } from "../domain/log.ts";
import type { ServerPicture } from "../domain/picture.ts";
import type { MonitoredServer } from "../domain/server.ts";
import { createDenialSources } from "../store/denial-sources.ts";
import { createDenials } from "../store/denials.ts";
import type { Store } from "../store/open.ts";
import type { DemoLogs } from "./demo-logs.ts";

/** Denials of the past, seen by the daemon's own watch: of logs that grow hour by hour, and of counters. */
export interface DemoDenials {
  /** Looks at new pictures and at what the logs say up to `now`, epoch ms. */
  look(pictures: readonly ServerPicture[], now: number): Promise<void>;
  /** Notes how far it came: the daemon goes on from there. */
  finish(): Promise<void>;
}

export function createDemoDenials(
  store: Store,
  servers: readonly MonitoredServer[],
  logs: DemoLogs,
  log: Log,
): DemoDenials {
  let time = 0;
  let tick = () => {};
  const watch = createDenialWatch({
    ...{ denials: createDenials(store), sources: createDenialSources(store), servers, log },
    clock: { now: () => time },
    timers: {
      after: (_, run) => {
        tick = run;
        return () => {};
      },
    },
    // Nothing is told of the past.
    commit: async (work) => void store.transaction(() => work()),
  });
  return {
    async look(pictures, now) {
      const isFirst = time === 0;
      time = now;
      for (const picture of pictures) watch.polled(picture);
      // What stands in a log when it is looked at first is history, and is not read.
      if (isFirst) watch.start();
      else {
        logs.writeUpTo(now);
        tick();
      }
      await watch.idle();
    },
    finish: () => watch.stop(),
  };
}
