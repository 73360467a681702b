import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HOUR_MS, MINUTE_MS } from "../../src/domain/time/clock.ts";
import { createOutbox } from "../../src/fleet/outbox.ts";
import { recordFacts } from "../../src/fleet/recording.ts";
import { createHistory } from "../../src/history/history.ts";
import { createLive } from "../../src/live/live.ts";
import { openStore } from "../../src/store/open/open.ts";
import { SILENT, serversOf } from "./history-file.ts";
import { pollOf } from "./history-ingest.ts";
import { createYear } from "./history-year.ts";
import { median, residentMegabytes } from "./measure.ts";
import { rescan, startPlace } from "./place.ts";
import { lmstatText } from "./shapes.ts";
import type { Bench, Row } from "./table.ts";

/** A site as the design calls it typical. */
const SIZE = { servers: 3, features: 60, days: 365, end: Date.parse("2026-09-30T00:00:00Z") };
const CHECKOUTS = 240;
/** Features whose seats are other people's after each poll. */
const CHANGED = 8;
const HOURS = 24;
/** A working day begins. */
const BEGIN = SIZE.end + 8 * HOUR_MS;
/** Facts that the hub has are kept for so long. */
const KEPT_MINUTES = 60;
const ROUNDS = 40;

export const fleetCost: Bench = {
  name: "fleet-cost",
  what: "what being in a fleet costs a site: polls, disk, memory (a minute)",
  run: async () => [...(await polls()), ...(await memory())],
};

type Side = ReturnType<typeof createSide>;

function createSide(directory: string, isInFleet: boolean) {
  const store = openStore({ directory, log: SILENT });
  const clock = { time: BEGIN, now: () => clock.time };
  const timers = { after: () => () => {} };
  if (isInFleet) recordFacts(store, false);
  const outbox = isInFleet ? createOutbox(store, (n) => crypto.getRandomValues(new Uint8Array(n))) : null;
  outbox?.begin(BEGIN);
  const history = createHistory({ store, clock, log: SILENT, timers });
  const live = createLive({
    store,
    servers: serversOf(SIZE),
    clock,
    log: SILENT,
    recorder: history.recorder,
    commit: async (work) => store.transaction(() => work()),
    timers,
  });
  return { store, clock, outbox, history, live, cyclesMs: [] as number[], heads: [] as number[] };
}

/** The same polls of a day on a database without and on one with a fleet, whose hub takes all facts at once. */
async function polls(): Promise<Row[]> {
  const own = mkdtempSync(join(tmpdir(), "licmond-fleet-"));
  const year = createYear();
  const servers = serversOf(SIZE);
  const sides = [false, true].map((isInFleet) => createSide(join(own, String(isInFleet)), isInFleet));
  const kilobytes = ({ store }: Side) => {
    store.sqlite.run("PRAGMA wal_checkpoint(TRUNCATE)");
    return statSync(store.path).size / 1024;
  };
  const sizes: Row[] = [];
  try {
    for (let minute = 0; minute <= HOURS * 60; minute++) {
      const at = BEGIN + minute * MINUTE_MS;
      const outcomes = servers.map((server, place) => pollOf(year, SIZE, server, place, at));
      for (const side of minute % 2 === 0 ? sides : sides.toReversed()) {
        side.clock.time = at;
        const begun = performance.now();
        for (const outcome of outcomes) await side.live.record(outcome, null);
        side.cyclesMs.push(performance.now() - begun);
        acknowledge(side);
        if (at % HOUR_MS === 2 * MINUTE_MS) side.history.packAll();
      }
      if (minute !== 60 && minute !== HOURS * 60) continue;
      const [without = Number.NaN, withFleet = Number.NaN] = sides.map(kilobytes);
      sizes.push({
        what: `licmond.db ${minute / 60} h after its begin, in a fleet, beside in none`,
        ours: withFleet,
        baseline: without,
        unit: "KB",
        bound: { of: "ratio", atMost: 1.1 },
      });
    }
    // Those of the working day: at night nothing changes.
    const [without = Number.NaN, withFleet = Number.NaN] = sides.map(({ cyclesMs }) =>
      median(cyclesMs.slice(0, 9 * 60)),
    );
    const cycle: Row = {
      what: `a cycle of polls of ${SIZE.servers} servers × ${SIZE.features} features, in a fleet, beside in none`,
      ours: withFleet,
      baseline: without,
      unit: "ms",
      bound: { of: "ratio", atMost: 1.1 },
    };
    return [cycle, ...sizes];
  } finally {
    for (const { live, store } of sides) {
      await live.stop();
      store.close();
    }
    rmSync(own, { recursive: true, force: true });
  }
}

function acknowledge({ outbox, heads, clock }: Side): void {
  if (outbox === null) return;
  const { head } = outbox.edges();
  heads.push(head);
  outbox.acknowledged(head, heads.at(-1 - KEPT_MINUTES) ?? 0, clock.time);
  const day = outbox.nextDay(clock.time);
  if (day !== null) outbox.dayDone(day, 0);
}

/** The built daemon under the same polls, with a hub that takes everything and without. */
async function memory(): Promise<Row[]> {
  await using hub = takingHub();
  const outputs = Array.from({ length: SIZE.servers }, (_, server) => {
    const shape = { features: SIZE.features, checkouts: CHECKOUTS, address: `${27_000 + server}@localhost` };
    const text = lmstatText(shape);
    const end = text.indexOf(`feature_${String(CHANGED + 1).padStart(4, "0")}`);
    return [text, text.slice(0, end).replaceAll(/^ {4}user/gm, "    other") + text.slice(end)];
  });
  const key = join(hub.folder, "hub.key");
  const fleet = `[fleet]\nsite = "bench"\nurl = "http://127.0.0.1:${hub.port}"\napi_key_file = "${key}"\n`;
  await Bun.write(key, "lmk_bench\n", { mode: 0o600 });
  const first = outputs.map(([text = ""]) => text);
  await using alone = await startPlace({ outputs: first });
  await using inFleet = await startPlace({ outputs: first, toml: fleet });
  const seen: { readonly all: number; readonly own: number }[][] = [[], []];
  for (let round = 1; round <= ROUNDS; round++) {
    for (const [side, place] of [alone, inFleet].entries()) {
      for (const [server, address] of place.addresses.entries())
        await Bun.write(join(place.tool, "..", address), outputs[server]?.[round % 2] ?? "");
      await rescan(place);
      seen[side]?.push(await residentMegabytes(place.pid));
    }
    await Bun.sleep(1_000);
  }
  if (hub.facts() === 0) throw new Error("the site pushed nothing");
  // The least of the second half: until then they grow into their memory, and between collections it goes up and down by 20 MB.
  const more = (of: "all" | "own") => {
    const [without = Number.NaN, withFleet = Number.NaN] = seen.map((looks) =>
      Math.min(...looks.slice(ROUNDS / 2).map((look) => look[of])),
    );
    return { without, more: withFleet - without };
  };
  const [all, own] = [more("all"), more("own")];
  return [
    {
      what: `memory beyond that of a daemon in no fleet (${own.without.toFixed(0)} MB), not mapped from files`,
      ours: own.more,
      baseline: null,
      unit: "MB",
      bound: { of: "ours", atMost: 5 },
    },
    {
      what: `… with what is mapped, the code for requests above all (${all.without.toFixed(0)} MB)`,
      ours: all.more,
      baseline: null,
      unit: "MB",
      bound: null,
    },
  ];
}

/** Says of each push that it has it. */
function takingHub() {
  let facts = 0;
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const push = JSON.parse(Bun.zstdDecompressSync(await request.bytes()).toString());
      facts += push.facts.length;
      return Response.json({ cursor: push.hello ? 0 : push.to, commands: [], wanted: [] });
    },
  });
  const folder = mkdtempSync(join(tmpdir(), "licmond-fleet-"));
  return {
    folder,
    port: server.port,
    facts: () => facts,
    async [Symbol.asyncDispose]() {
      await server.stop(true);
      rmSync(folder, { recursive: true });
    },
  };
}
