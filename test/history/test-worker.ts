import type { Reader } from "../../src/history/reader.ts";
import { serveHistory, sqliteBackend } from "../../src/history/serve.ts";
import type { Named } from "../../src/store/conditions.ts";

// A history worker for tests; `count` is a long statement that cannot be cancelled.
declare const self: Worker;

const STATEMENT =
  "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT max(i) AS most FROM n";

export const TEST_QUERIES = {
  features: (read: Reader, filter: Partial<Named>) => read.features(filter),
  reach: (read: Reader, _: null) => read.reach(),
  series: (read: Reader, { filter, start, end }: { filter: Partial<Named>; start: number; end: number }) =>
    read.features(filter).map((feature) => {
      read.checkpoint();
      return read.series(feature, start, end);
    }),
  count: (read: Reader, { until, begun }: Count) => {
    if (begun !== undefined) Atomics.store(new Int32Array(begun), 0, 1);
    return read.all<{ most: number }>(STATEMENT, until)[0]?.most;
  },
};

interface Count {
  readonly until: number;
  /** Set to 1 when the statement begins. */
  readonly begun?: SharedArrayBuffer;
}

serveHistory(self, TEST_QUERIES, sqliteBackend());
