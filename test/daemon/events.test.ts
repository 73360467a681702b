import { expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEventBus } from "../../src/daemon/events.ts";
import { openStore } from "../../src/store/open/open.ts";
import { createLogging } from "../../src/system/log.ts";

const quiet = { debug() {}, info() {}, warn() {}, error() {} };

test("the word that ids run ahead of the clock keeps its place, and no event is lost for it", async () => {
  const directory = await mkdtemp(join(tmpdir(), "licmond-events-"));
  const store = openStore({ directory, log: quiet });
  try {
    const clock = { now: () => Date.parse("2026-03-02T12:00:00.000Z") };
    const logging = createLogging({ level: "debug", clock, sinks: [] });
    const { bus, events, logSink } = createEventBus(store, clock, logging.logOf("store"));
    logging.addSink(logSink);
    const log = logging.logOf("system");
    const told: number[] = [];
    bus.subscribe((batch) => void told.push(...batch.map(({ id }) => id)));
    // More than one a millisecond, until they are more than a second ahead.
    for (let index = 0; index < 1_500; index++) log.info("line", { index });
    await Promise.resolve();
    bus.flush();
    const rows = events.page(0, 10_000);
    expect(told).toEqual(rows.map(({ id }) => id));
    expect(told).toHaveLength(1_501);
    expect(told).toEqual([...new Set(told)].sort((a, b) => a - b));
    expect(bus.holes()).toEqual([]);
    const lines = rows.map(({ json }) => JSON.parse(json) as { message: string; metadata: object });
    expect(lines.filter(({ message }) => message.startsWith("Event ids run ahead"))).toHaveLength(1);
  } finally {
    store.close();
    await rm(directory, { recursive: true, force: true });
  }
});
