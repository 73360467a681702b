import { afterEach, expect, test } from "bun:test";
import { uncompress } from "snappyjs";
import type { Config } from "../../src/config/config.ts";
import { createRemoteWrite } from "../../src/daemon/remote-write.ts";
import { systemClock } from "../../src/domain/time/clock.ts";
import { systemTimers } from "../../src/domain/time/timers.ts";
import { type Emit, gauge } from "../../src/export/family.ts";
import { nameOf, readRequest } from "../export/remote-write/read-request.ts";

const servers: Bun.Server<undefined>[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop(true);
});

/** A receiver that keeps the names of the series that it was sent. */
function receiver() {
  const got: string[][] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      got.push(readRequest(uncompress(await request.bytes())).map(nameOf));
      return new Response(null, { status: 204 });
    },
  });
  servers.push(server);
  return { url: `http://127.0.0.1:${server.port}/write`, got };
}

/** Waits until it is so; the test's own timeout ends a wait in vain. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await Bun.sleep(5);
}

const quiet = { debug() {}, info() {}, warn() {}, error() {} };

test("writes while the config says so, to where it says, under the labels that it says", async () => {
  const [one, two] = [receiver(), receiver()];
  const sources = new Set<(emit: Emit) => void>();
  let config: Config["remoteWrite"] = null;
  const room = createRemoteWrite({
    config: () => config,
    snapshot: () => ({ version: 1, servers: [] }),
    meters: {
      emit(emit) {
        emit(gauge("ticks", "Ticks."), [], 1);
        for (const source of sources) source(emit);
      },
      add(source) {
        sources.add(source);
        return () => void sources.delete(source);
      },
    },

    instance: "lic:8080",
    clock: systemClock,
    timers: systemTimers,
    log: quiet,
  });
  const write = { url: one.url, tokenFile: null, username: null, intervalMs: 20, labels: {} };

  room.configured();
  config = write;
  room.configured();
  await until(() => one.got.length > 1);
  expect(one.got[0]).toContain("ticks{instance=lic:8080,job=licmond}");
  expect(one.got[0]?.some((name) => name.startsWith("licmond_remote_write_samples_total"))).toBe(true);

  config = { ...write, url: two.url, labels: { job: "mine", site: "muc" } };
  room.configured();
  await until(() => two.got.length > 1);
  expect(two.got[0]).toContain("ticks{instance=lic:8080,job=mine,site=muc}");
  const before = one.got.length;

  config = null;
  room.configured();
  await until(() => sources.size === 0);
  const after = two.got.length;
  await room.stop();
  expect(one.got.length).toBe(before);
  expect(two.got.length).toBe(after);
});
