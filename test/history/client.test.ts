import { afterEach, describe, expect, test } from "bun:test";
import { createHistoryClient, HistoryTimeout } from "../../src/history/client.ts";
import { StoreError } from "../../src/store/database/store-error.ts";
import * as a from "../domain/make.ts";
import { cleanUp, later } from "../store/place.ts";
import { recordingLog } from "../store/recording-log.ts";
import { createRig, outcomeOf } from "./rig.ts";
import type { TEST_QUERIES } from "./test-worker.ts";

afterEach(cleanUp);

const MINUTE = 60_000;

/**
 * Creates a store with five polls, and a client. `workers` are all started workers; `alive` counts those
 * that still run.
 */
async function withHistory({ path, stuckMs }: { path?: string; stuckMs?: number } = {}) {
  const rig = createRig();
  for (let minute = 0; minute < 5; minute++) {
    const counts = new Map([["compiler", { total: 10, used: minute, queued: 0 }]]);
    await rig.poll(outcomeOf({ at: a.NOON + minute * MINUTE, counts }));
  }
  const log = recordingLog();
  const workers: Worker[] = [];
  const alive = { now: 0, most: 0 };
  const client = createHistoryClient<typeof TEST_QUERIES>({
    path: path ?? rig.store.path,
    clock: rig.clock,
    log,
    ...(stuckMs !== undefined && { stuckMs }),
    startWorker() {
      const worker = new Worker(new URL("./test-worker.ts", import.meta.url).href);
      workers.push(worker);
      alive.most = Math.max(alive.most, ++alive.now);
      worker.addEventListener("close", () => void alive.now--);
      return worker;
    },
  });
  later(() => client.stop());
  return { rig, client, log, workers, alive };
}

const range = { filter: {}, start: a.NOON, end: a.NOON + 10 * MINUTE };
const failed = (query: Promise<unknown>): Promise<unknown> => query.catch((reason) => reason);

describe("history queries in a worker", () => {
  test("see later commits of the daemon", async () => {
    const { rig, client } = await withHistory();
    const [series] = await client.query("series", range);
    expect(series?.feature).toMatchObject({ server: "eda", daemon: "snpslmd", feature: "compiler" });
    expect(series?.steps.map(({ used }) => used)).toEqual([0, 1, 2, 3, null]);

    rig.store.transaction(() => {});
    await rig.poll(
      outcomeOf({
        at: a.NOON + 5 * MINUTE,
        counts: new Map([["compiler", { total: 9, used: 9, queued: 2 }]]),
      }),
    );
    rig.clock.advance(MINUTE);
    const [later] = await client.query("series", range);
    expect(later?.steps.at(-2)).toMatchObject({ used: 9, total: 9, queued: 2 });
  });

  test("run without blocking each other or the main thread", async () => {
    const { client } = await withHistory();
    const answers = await Promise.all(Array.from({ length: 20 }, () => client.query("features", {})));
    expect(answers.every((list) => list.length === 1)).toBe(true);
  });

  test("are served in turns: a single query waits for at most two of a busy client", async () => {
    const { client } = await withHistory();
    const order: string[] = [];
    const ask = (who: string) => client.query("features", {}, { who }).then(() => order.push(who));
    await Promise.all([...Array.from({ length: 20 }, () => ask("many")), ask("one")]);
    expect(order).toHaveLength(21);
    expect(order.indexOf("one")).toBeLessThanOrEqual(2);
  });

  test("reject with a StoreError if the file cannot be read", async () => {
    const { client } = await withHistory({ path: "/nowhere/licmond.db" });
    const error = await failed(client.query("features", {}));
    expect(error).toBeInstanceOf(StoreError);
    expect(error).toMatchObject({ code: "NOT_WRITABLE" });
  });

  test("are abandoned when their client leaves", async () => {
    const { client } = await withHistory();
    const control = new AbortController();
    const asked = client.query("series", range, { signal: control.signal });
    control.abort(new Error("gone"));
    expect(asked).rejects.toThrow("gone");
    expect(client.query("features", {}, { signal: control.signal })).rejects.toThrow("gone");
    expect(await client.query("features", {})).toHaveLength(1);
  });

  test("time out", async () => {
    const { client } = await withHistory();
    const error = await failed(client.query("series", range, { timeoutMs: 0 }));
    expect(error).toBeInstanceOf(HistoryTimeout);
  });

  test("survive a dead worker: the next query starts another one", async () => {
    const { client, workers, log } = await withHistory();
    await client.query("features", {});
    workers[0]?.terminate();
    const first = await failed(client.query("features", {}));
    // The client may notice the dead worker before or after this query. In both cases, the client answers
    // the next query.
    if (!Array.isArray(first)) expect(first).toBeInstanceOf(StoreError);
    expect(await client.query("features", {})).toHaveLength(1);
    expect(workers).toHaveLength(2);
    expect(log.lines.filter((line) => JSON.stringify(line).includes("history worker"))).toHaveLength(1);
  });

  test("are refused after the end", async () => {
    const { client } = await withHistory();
    const waiting = failed(client.query("features", {}));
    client.stop();
    expect(await waiting).toMatchObject({ code: "CLOSED" });
    expect(client.query("features", {})).rejects.toMatchObject({ code: "CLOSED" });
  });
});

/** Number to which a long query counts. It takes some seconds on any machine. */
const LONG = 40_000_000;

describe("abandoned queries", () => {
  async function busy() {
    const made = await withHistory({ stuckMs: 50 });
    await made.client.query("features", {});
    return made;
  }

  /** Sends a long query. `abandon` waits until the worker runs it and then aborts it. */
  function counting(client: Awaited<ReturnType<typeof busy>>["client"], until: number) {
    const control = new AbortController();
    const begun = new SharedArrayBuffer(4);
    const dead = failed(client.query("count", { until, begun }, { signal: control.signal }));
    return {
      dead,
      async abandon(): Promise<void> {
        while (Atomics.load(new Int32Array(begun), 0) === 0) await Bun.sleep(1);
        control.abort(new Error("gone"));
      },
    };
  }

  test("delay no others: another worker replaces one that is stuck in a statement", async () => {
    const { client, workers } = await busy();
    const { dead, abandon } = counting(client, LONG);
    const alive = client.query("features", {});
    await abandon();
    expect(await alive).toHaveLength(1);
    expect(await dead).toMatchObject({ message: "gone" });
    // The first worker still runs its statement.
    expect(workers).toHaveLength(2);
  });

  test("keep only a few workers stuck at once", async () => {
    const { client, alive } = await busy();
    for (let turn = 1; turn <= 6; turn++) {
      const { dead, abandon } = counting(client, 2_000_000);
      const next = client.query("features", {});
      await abandon();
      expect(await dead).toMatchObject({ message: "gone" });
      expect(await next).toHaveLength(1);
    }
    // At most one working and three stuck workers ran at the same time.
    expect(alive.most).toBeLessThanOrEqual(4);
    expect(alive.most).toBeGreaterThan(1);
    while (alive.now > 1) await Bun.sleep(5);
    expect(await client.query("features", {})).toHaveLength(1);
  });

  test("are dropped unread, so that fifty of them do not delay the next query", async () => {
    const { client, workers } = await busy();
    const control = new AbortController();
    const { signal } = control;
    const dead = Array.from({ length: 50 }, () =>
      client.query("count", { until: 3_000_000 }, { signal }).catch(() => "gone"),
    );
    control.abort();
    expect(await client.query("count", { until: 3 })).toBe(3);
    expect(new Set(await Promise.all(dead))).toEqual(new Set(["gone"]));
    expect(workers.length).toBeLessThanOrEqual(2);
  });

  test("run to their end if they are not abandoned", async () => {
    const { client, workers } = await busy();
    const [slow, next] = await Promise.all([
      client.query("count", { until: 3_000_000 }),
      client.query("features", {}),
    ]);
    expect([slow, next.length, workers.length]).toEqual([3_000_000, 1, 1]);
  });
});
