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

async function withHistory() {
  const rig = createRig();
  for (let minute = 0; minute < 5; minute++) {
    const counts = new Map([["compiler", { total: 10, used: minute, queued: 0 }]]);
    await rig.poll(outcomeOf({ at: a.NOON + minute * MINUTE, counts }));
  }
  const log = recordingLog();
  const workers: Worker[] = [];
  const client = createHistoryClient<typeof TEST_QUERIES>({
    path: rig.store.path,
    clock: rig.clock,
    log,
    startWorker() {
      const worker = new Worker(new URL("./test-worker.ts", import.meta.url).href);
      workers.push(worker);
      return worker;
    },
  });
  later(() => client.stop());
  return { rig, client, log, workers };
}

const range = { filter: {}, start: a.NOON, end: a.NOON + 10 * MINUTE };

describe("queries of history, in a worker", () => {
  test("see the daemon's commits, also later ones", async () => {
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

  test("reject with the store's own words when the file cannot be read", async () => {
    const log = recordingLog();
    const clock = { now: () => a.NOON };
    const client = createHistoryClient<typeof TEST_QUERIES>({
      path: "/nowhere/licmond.db",
      clock,
      log,
      startWorker: () => new Worker(new URL("./test-worker.ts", import.meta.url).href),
    });
    later(() => client.stop());
    const error = await client.query("features", {}).catch((reason) => reason);
    expect(error).toBeInstanceOf(StoreError);
    expect(error.code).toBe("NOT_WRITABLE");
  });

  test("are abandoned when their client has gone", async () => {
    const { client } = await withHistory();
    const control = new AbortController();
    const asked = client.query("series", range, { signal: control.signal });
    control.abort(new Error("gone"));
    expect(asked).rejects.toThrow("gone");
    expect(client.query("features", {}, { signal: control.signal })).rejects.toThrow("gone");
    expect(await client.query("features", {})).toHaveLength(1);
  });

  test("are given up when they take too long", async () => {
    const { client } = await withHistory();
    const error = await client.query("series", range, { timeoutMs: 0 }).catch((reason) => reason);
    expect(error).toBeInstanceOf(HistoryTimeout);
  });

  test("survive their worker: waiting ones are rejected, the next one starts another", async () => {
    const { client, workers, log } = await withHistory();
    await client.query("features", {});
    workers[0]?.terminate();
    const first = await client.query("features", {}).catch((reason) => reason);
    // Whether the death was seen before the question or after it, it is the next one at the latest that is answered.
    if (!Array.isArray(first)) expect(first).toBeInstanceOf(StoreError);
    expect(await client.query("features", {})).toHaveLength(1);
    expect(workers).toHaveLength(2);
    expect(log.lines.filter((line) => JSON.stringify(line).includes("history worker"))).toHaveLength(1);
  });

  test("after the end are refused", async () => {
    const { client } = await withHistory();
    const waiting = client.query("features", {}).catch((reason) => reason);
    client.stop();
    expect(await waiting).toMatchObject({ code: "CLOSED" });
    expect(client.query("features", {})).rejects.toMatchObject({ code: "CLOSED" });
  });
});

/** Takes some seconds on any machine. */
const LONG = 40_000_000;

describe("abandoned queries", () => {
  async function busy() {
    const { rig } = await withHistory();
    const workers: Worker[] = [];
    const alive = { now: 0, most: 0 };
    const client = createHistoryClient<typeof TEST_QUERIES>({
      path: rig.store.path,
      clock: rig.clock,
      log: recordingLog(),
      stuckMs: 50,
      startWorker() {
        const worker = new Worker(new URL("./test-worker.ts", import.meta.url).href);
        workers.push(worker);
        alive.now++;
        alive.most = Math.max(alive.most, alive.now);
        worker.addEventListener("close", () => void alive.now--);
        return worker;
      },
    });
    later(() => client.stop());
    await client.query("features", {});
    return { client, workers, alive };
  }

  test("delay no others: another worker replaces one that is stuck in a statement", async () => {
    const { client, workers } = await busy();
    const control = new AbortController();
    const begun = new SharedArrayBuffer(4);
    const { signal } = control;
    const dead = client.query("count", { until: LONG, begun }, { signal }).catch((reason) => reason);
    const alive = client.query("features", {});
    while (Atomics.load(new Int32Array(begun), 0) === 0) await Bun.sleep(1);
    control.abort(new Error("gone"));
    expect(await alive).toHaveLength(1);
    expect((await dead).message).toBe("gone");
    // The first is at its statement still: whoever had waited for it would have needed no second one.
    expect(workers).toHaveLength(2);
  });

  test("keep only a few workers stuck at once", async () => {
    const { client, alive } = await busy();
    for (let turn = 1; turn <= 6; turn++) {
      const control = new AbortController();
      const begun = new SharedArrayBuffer(4);
      const { signal } = control;
      const dead = client.query("count", { until: 2_000_000, begun }, { signal }).catch(() => "gone");
      const alive = client.query("features", {});
      while (Atomics.load(new Int32Array(begun), 0) === 0) await Bun.sleep(1);
      control.abort();
      expect([await dead, (await alive).length]).toEqual(["gone", 1]);
    }
    // One that works and three that are stuck.
    expect(alive.most).toBeLessThanOrEqual(4);
    expect(alive.most).toBeGreaterThan(1);
    while (alive.now > 1) await Bun.sleep(5);
    expect(await client.query("features", {})).toHaveLength(1);
  });

  test("are dropped unread: fifty that were given up cost the next one nothing", async () => {
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

  test("while they are wanted, take their time", async () => {
    const { client, workers } = await busy();
    const [slow, next] = await Promise.all([
      client.query("count", { until: 3_000_000 }),
      client.query("features", {}),
    ]);
    expect([slow, next.length, workers.length]).toEqual([3_000_000, 1, 1]);
  });
});
