import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createKeyWatch, KEY_WATCH_MS } from "../../src/daemon/keys.ts";
import { createKeys } from "../../src/store/keys.ts";
import type { Store } from "../../src/store/open/open.ts";
import { cleanUp, fixedClock, manualTimers, open, temporaryDirectory } from "../store/place.ts";
import { plainKey } from "../store/plain-key.ts";
import { recordingLog } from "../store/recording-log.ts";

let directory = "";
let clock = fixedClock(0);
beforeEach(() => {
  directory = temporaryDirectory();
  clock = fixedClock(NOW);
});
afterEach(cleanUp);

const NOW = Date.parse("2026-03-02T12:00:00.000Z");

/** Starts a daemon's key watch on a directory, with manual timers. */
function watched(wrap: (store: Store) => Store = (store) => store) {
  const log = recordingLog();
  const timers = manualTimers();
  const store = open(directory);
  const watch = createKeyWatch(wrap(store), createKeys({ store, clock }), log, timers);
  return {
    store,
    watch,
    waiting: timers.waiting,
    tick: timers.fire,
    /** Log lines since the last call. */
    news: () =>
      log.lines.splice(0).map(({ message, fields }) => [message, fields.name ?? null, fields.via ?? null]),
    told: log.lines,
  };
}

const commandLine = () => createKeys({ store: open(directory, { mode: "cli" }), clock });

function made(keys: ReturnType<typeof createKeys>, name: string): string {
  const result = keys.create(plainKey({ name }));
  if (result.outcome !== "created") throw new Error(result.outcome);
  return result.key.id;
}

describe("changes of keys by the command line", () => {
  test("are logged once, within five seconds", () => {
    const daemon = watched();
    const beside = commandLine();
    expect(KEY_WATCH_MS).toBeLessThan(5000);
    expect(daemon.waiting.map(({ ms }) => ms)).toEqual([KEY_WATCH_MS]);

    const id = made(beside, "grafana");
    daemon.tick();
    expect(daemon.told[0]?.fields).toEqual({
      outcome: "ok",
      keyId: id,
      name: "grafana",
      role: "viewer",
      anonymize: false,

      by: null,
      via: "command line",
    });
    expect(daemon.news()).toEqual([["API key created", "grafana", "command line"]]);
    daemon.tick();
    expect(daemon.news()).toEqual([]);

    beside.revoke(id);
    const short = made(beside, "short");
    beside.revoke(short);
    daemon.tick();
    expect(daemon.news().sort()).toEqual([
      ["API key created", "short", "command line"],
      ["API key revoked", "grafana", "command line"],
      ["API key revoked", "short", "command line"],
    ]);
  });

  test("do not include the daemon's own changes, nor uses of keys", () => {
    const daemon = watched();
    const beside = commandLine();
    const own = made(daemon.watch.keys, "own");
    made(beside, "beside");
    daemon.tick();
    expect(daemon.news()).toEqual([["API key created", "beside", "command line"]]);
    daemon.watch.keys.revoke(own);
    beside.touch(own, NOW + 5);
    beside.flush();
    daemon.tick();
    expect(daemon.news()).toEqual([]);
  });

  test("are logged at the next start if no daemon ran, but not if they were logged before", () => {
    made(commandLine(), "first");
    const before = watched();
    expect(before.news()).toEqual([["API key created", "first", "command line"]]);
    clock.advance(1000);
    const own = made(before.watch.keys, "own");
    before.watch.stop();
    expect(before.waiting).toEqual([]);
    before.store.close();

    clock.advance(1000);
    const meanwhile = commandLine();
    made(meanwhile, "second");
    meanwhile.revoke(own);
    expect(watched().news().sort()).toEqual([
      ["API key created", "second", "command line"],
      ["API key revoked", "own", "command line"],
    ]);
  });

  test("a failing store is logged once, and the next look catches up", () => {
    let broken = false;
    const daemon = watched((store) => ({
      ...store,
      state: {
        ...store.state,
        dataVersion() {
          if (broken) throw new Error("disk I/O error");
          return store.state.dataVersion();
        },
      },
    }));
    broken = true;
    made(commandLine(), "grafana");
    daemon.tick();
    daemon.tick();
    expect(daemon.news()).toEqual([["Cannot look for changes to API keys", null, null]]);
    broken = false;
    daemon.tick();
    expect(daemon.news()).toEqual([["API key created", "grafana", "command line"]]);
  });
});
