import { afterEach, describe, expect, test } from "bun:test";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { MINUTE_MS } from "../../src/domain/time/clock.ts";
import { createReader, type Reader } from "../../src/history/reader.ts";
import { type Coverage, takeLook } from "../../src/history/recorder.ts";
import * as a from "../domain/make.ts";
import { cleanUp, open, temporaryDirectory } from "../store/place.ts";
import { createRig, outcomeOf } from "./rig.ts";

afterEach(cleanUp);

type Rig = ReturnType<typeof createRig>;

function rowsOf(rig: Rig, table: string): number {
  const row = rig.store.sqlite.query<{ n: number }, []>(`SELECT count(*) AS n FROM ${table}`).get();
  return row?.n ?? Number.NaN;
}

/** Polls a feature: `[minute after noon, used seats]`. */
async function polled(rig: Rig, ...polls: readonly (readonly [minute: number, used: number])[]) {
  for (const [minute, used] of polls) {
    const counts = new Map([["compiler", { total: 10, used, queued: 0 }]]);
    await rig.poll(outcomeOf({ at: a.NOON + minute * MINUTE_MS, counts }));
  }
}

/** Returns the steps in a range of minutes, as `[minute, used seats]`. */
function stepsOf(reader: Reader, from: number, to: number) {
  const [feature] = reader.features();
  if (feature === undefined) throw new Error("no feature");
  const { steps } = reader.series(feature, a.NOON + from * MINUTE_MS, a.NOON + to * MINUTE_MS);
  return steps.map(({ at, used }) => [(at - a.NOON) / MINUTE_MS, used]);
}

const minutes = (count: number, usedIn: (minute: number) => number) =>
  Array.from({ length: count }, (_, minute) => [minute, usedIn(minute)] as const);

describe("a poll", () => {
  test("without a change writes no sample and no other coverage", async () => {
    const rig = createRig();
    await polled(rig, ...minutes(30, () => 4));
    expect(rowsOf(rig, "samples")).toBe(1);
    expect(rig.store.sqlite.query("SELECT looks FROM coverage").all()).toEqual([{ looks: 30 }]);
    // Nothing is known after the last poll.
    expect(stepsOf(rig.reader(), 0, 30)).toEqual([
      [0, 4],
      [29, null],
    ]);
  });

  test("is repeated by the next poll if its transaction failed", async () => {
    const rig = createRig();
    await polled(rig, [0, 4]);
    rig.store.sqlite.run("PRAGMA query_only = ON");
    await polled(rig, [1, 5]);
    rig.store.sqlite.run("PRAGMA query_only = OFF");
    await polled(rig, [2, 5]);
    rig.clock.advance(MINUTE_MS);
    expect(stepsOf(rig.reader(), 0, 3)).toEqual([
      [0, 4],
      [2, 5],
    ]);
  });

  test("survives a killed process, without covering unobserved time", async () => {
    const rig = createRig();
    await polled(rig, ...minutes(3, (minute) => minute));
    // A killed process closes nothing: it leaves the database and its write-ahead log behind.
    const copy = temporaryDirectory();
    for (const name of ["licmond.db", "licmond.db-wal"])
      cpSync(join(rig.store.directory, name), join(copy, name));
    const reader = createReader(open(copy).sqlite, { now: a.NOON + 60 * MINUTE_MS });
    expect(stepsOf(reader, 0, 60)).toEqual([
      [0, 0],
      [1, 1],
      [2, 2],
      [3, null],
    ]);
  });

  test("by a clock that was years behind for a while keeps later history", async () => {
    const rig = createRig();
    const wrong = -10 * 365 * 24 * 60;
    await polled(rig, [0, 1], [1, 1], [wrong, 9], [wrong + 1, 9], [2, 1], [3, 2]);
    rig.clock.advance(2 * 86_400_000);
    const wanted = [
      [-1, null],
      [0, 1],
      [3, 2],
      [4, null],
    ];
    expect(stepsOf(rig.reader(), -1, 5)).toEqual(wanted);
    rig.history().packAll();
    expect(stepsOf(rig.reader(), -1, 5)).toEqual(wanted);
    // Only two days were packed, not the ten years between them.
    expect(rowsOf(rig, "packed_days WHERE kind = 'rollups'")).toBe(2);
  });
});

test("denials in rollups are null while not visible, and are counted again after a late import", async () => {
  const rig = createRig();
  await polled(rig, ...minutes(3, () => 1));
  rig.clock.advance(2 * 86_400_000);
  rig.history().packAll();
  const denials = () => {
    const hours = rig.reader().hours(rig.feature("compiler"), a.NOON, a.NOON + 60 * MINUTE_MS);
    return hours.map(({ rollup }) => rollup.denials);
  };
  expect(denials()).toEqual([null]);
  const { sqlite } = rig.store;
  sqlite.run("INSERT INTO denial_spans (server_id, from_at, to_at) VALUES ('eda', ?, NULL)", [a.NOON]);
  sqlite.run(
    `INSERT INTO denials (server_id, daemon, feature, user, host, at, until, count, attempts, reason, code, outcome, told)
     VALUES ('eda', 'snpslmd', 'compiler', 'ann', NULL, ?1, ?1, 1, 3, NULL, NULL, 'denied', 1)`,
    [a.NOON + MINUTE_MS],
  );
  expect(denials()).toEqual([1]);
  rig.history().packAll();
  expect(denials()).toEqual([1]);
  expect(rowsOf(rig, "dirty WHERE kind IN ('hours', 'rollups')")).toBe(0);
});

/**
 * Applies polls, given by their minutes, to rows as a store would hold them. `!` marks a failed poll;
 * `restart` starts another process.
 */
function play(text: string) {
  const rows = new Map<number, Coverage>();
  let own: number | null | undefined;
  const records: string[] = [];
  for (const word of text.split(" ")) {
    if (word === "restart") {
      own = undefined;
      continue;
    }
    const at = Number.parseFloat(word) * MINUTE_MS;
    const good = !word.endsWith("!");
    const sorted = [...rows.values()].sort((a, b) => a.from - b.from);
    const around = good ? at : Math.max(at, own ?? at);
    const looked = takeLook(
      own,
      { at, good, intervalMs: MINUTE_MS, timeoutMs: MINUTE_MS / 2 },
      {
        before: sorted.findLast(({ from }) => from <= around) ?? null,
        nextFrom: sorted.find(({ from }) => from > around)?.from ?? Infinity,
      },
    );
    for (const row of looked.rows) rows.set(row.from, row);
    own = looked.from;
    records.push(own === null ? "nothing" : own === at ? "all" : "changes");
  }
  const spans = [...rows.values()].sort((a, b) => a.from - b.from);
  const covered = spans.map(({ from, until }) => `${from / MINUTE_MS}-${until / MINUTE_MS}`).join(" ");
  return { covered, records };
}

describe("coverage", () => {
  test.each<[string, string, string]>([
    ["one reading holds for an interval", "10", "10-11"],
    ["polls in time hold together", "10 11 13.5", "10-14.5"],
    ["later than 2 × interval + timeout is a gap", "10 12.6", "10-11 12.6-13.6"],
    ["a failed poll ends it", "10 11.5!", "10-11.5"],
    ["failures cover nothing", "10! 11!", ""],
    ["a late failure changes nothing", "10 15! 16", "10-11 16-17"],
    ["a restart in time leaves no gap", "10 restart 12", "10-12 12-13"],
    ["a restart in time with a failure ends it", "10 restart 12!", "10-12"],
    ["a long stop is a gap", "10 restart 30", "10-11 30-31"],
    ["a failure before the stop leaves a gap", "10 11! restart 12", "10-11 12-13"],
    [
      "covered time stays until a clock that was set back has passed it",
      "100 101 60 61 99 100 101.5 103",
      "60-62 99-100 100-101.5 101.5-104",
    ],
    ["a clock that was set back a little records nothing twice", "100 101 100.5 102", "100-102 102-103"],
    ["a clock that was set forward is a gap", "10 100 101", "10-11 100-102"],
    ["a clock that was set back while the server fails removes unproven time", "10 5!", "10-10"],
  ])("%s", (_, looks, covered) => {
    expect(play(looks).covered).toBe(covered);
  });

  test("each coverage begins with all counts, followed by changes", () => {
    const { records } = play("10 11 12! 13 restart 14");
    expect(records).toEqual(["all", "changes", "nothing", "all", "all"]);
  });
});
