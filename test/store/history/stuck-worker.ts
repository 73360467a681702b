import type { ToWorker } from "../../../src/store/history/protocol.ts";
import { QUERIES } from "../../../src/store/history/queries.ts";
import type { HistoryRead } from "../../../src/store/history/read.ts";
import { createHistoryServer } from "../../../src/store/history/serve.ts";

// The worker of history with a query that is one long statement: nothing calls it off.
declare const self: Worker;

const STATEMENT =
  "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT max(i) AS most FROM n";

export const STUCK_QUERIES = {
  ...QUERIES,
  count: (read: HistoryRead, { until, begun }: Count) => {
    if (begun !== undefined) Atomics.store(new Int32Array(begun), 0, 1);
    return read.all<{ most: number }>(STATEMENT, until)[0]?.most;
  },
};

interface Count {
  readonly until: number;
  /** One number, set to 1 when the statement begins. */
  readonly begun?: SharedArrayBuffer;
}

const server = createHistoryServer(
  (message, handedOver) => self.postMessage(message, handedOver),
  STUCK_QUERIES,
);
self.onmessage = ({ data }: MessageEvent<ToWorker>) => server.take(data);
