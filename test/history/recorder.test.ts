import { afterEach, describe, expect, test } from "bun:test";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { MINUTE_MS } from "../../src/domain/time/clock.ts";
import { createReader } from "../../src/history/reader.ts";
import { type Coverage, type Look, takeLook } from "../../src/history/recorder.ts";
import * as a from "../domain/make.ts";
import { cleanUp, open, temporaryDirectory } from "../store/place.ts";
import { createRig, outcomeOf } from "./rig.ts";

afterEach(cleanUp);

const counts = (used: number) => new Map([["compiler", { total: 10, used, queued: 0 }]]);

function rowsOf(rig: ReturnType<typeof createRig>, table: string): number {
  const row = rig.store.sqlite.query<{ n: number }, []>(`SELECT count(*) AS n FROM ${table}`).get();
  return row?.n ?? Number.NaN;
}

describe("a poll", () => {
  test("that changes nothing writes no sample and no other coverage", async () => {
    const rig = createRig();
    for (let minute = 0; minute < 30; minute++) {
      await rig.poll(outcomeOf({ at: a.NOON + minute * MINUTE_MS, counts: counts(4) }));
    }
    expect(rowsOf(rig, "samples")).toBe(1);
    // How often it looked is counted: from that the rules are tried over what was.
    const covered = rig.store.sqlite.query("SELECT looks FROM coverage").all();
    expect(covered).toEqual([{ looks: 30 }]);
    const { steps } = rig.reader().series(rig.feature("compiler"), a.NOON, a.NOON + 30 * MINUTE_MS);
    expect(steps.map(({ at, used }) => [at - a.NOON, used])).toEqual([
      [0, 4],
      // Nobody has looked behind the last poll yet.
      [29 * MINUTE_MS, null],
    ]);
  });

  test("is repeated by the next poll if its transaction failed", async () => {
    const rig = createRig();
    await rig.poll(outcomeOf({ at: a.NOON, counts: counts(4) }));
    rig.store.sqlite.run("PRAGMA query_only = ON");
    await rig.poll(outcomeOf({ at: a.NOON + MINUTE_MS, counts: counts(5) }));
    rig.store.sqlite.run("PRAGMA query_only = OFF");
    await rig.poll(outcomeOf({ at: a.NOON + 2 * MINUTE_MS, counts: counts(5) }));
    rig.clock.advance(MINUTE_MS);
    const { steps } = rig.reader().series(rig.feature("compiler"), a.NOON, a.NOON + 3 * MINUTE_MS);
    expect(steps.map(({ at, used }) => [at - a.NOON, used])).toEqual([
      [0, 4],
      [2 * MINUTE_MS, 5],
    ]);
  });

  test("survives the death of the process, without covering unobserved time", async () => {
    const rig = createRig();
    for (let minute = 0; minute < 3; minute++) {
      await rig.poll(outcomeOf({ at: a.NOON + minute * MINUTE_MS, counts: counts(minute) }));
    }
    // The files as a death leaves them: database and log, nothing closed.
    const copy = temporaryDirectory();
    for (const name of ["licmond.db", "licmond.db-wal"]) {
      cpSync(join(rig.store.directory, name), join(copy, name));
    }
    const store = open(copy);
    const reader = createReader(store.sqlite, { now: a.NOON + 60 * MINUTE_MS });
    const [feature] = reader.features();
    if (feature === undefined) throw new Error("no feature");
    const { steps } = reader.series(feature, a.NOON, a.NOON + 60 * MINUTE_MS);
    expect(steps.map(({ at, used }) => [at - a.NOON, used])).toEqual([
      [0, 0],
      [MINUTE_MS, 1],
      [2 * MINUTE_MS, 2],
      [3 * MINUTE_MS, null],
    ]);
  });

  test("of many hours ago, on a clock that was wrong for a while, leaves later history as it was", async () => {
    const rig = createRig();
    await rig.poll(outcomeOf({ at: a.NOON, counts: counts(1) }));
    await rig.poll(outcomeOf({ at: a.NOON + MINUTE_MS, counts: counts(1) }));
    const wrong = a.NOON - 10 * 365 * 86_400_000;
    await rig.poll(outcomeOf({ at: wrong, counts: counts(9) }));
    await rig.poll(outcomeOf({ at: wrong + MINUTE_MS, counts: counts(9) }));
    await rig.poll(outcomeOf({ at: a.NOON + 2 * MINUTE_MS, counts: counts(1) }));
    await rig.poll(outcomeOf({ at: a.NOON + 3 * MINUTE_MS, counts: counts(2) }));
    rig.clock.advance(2 * 86_400_000);
    const steps = () =>
      rig
        .reader()
        .series(rig.feature("compiler"), a.NOON - MINUTE_MS, a.NOON + 5 * MINUTE_MS)
        .steps.map(({ at, used }) => [at - a.NOON, used]);
    const wanted = [
      [-MINUTE_MS, null],
      [0, 1],
      [3 * MINUTE_MS, 2],
      [4 * MINUTE_MS, null],
    ];
    expect(steps()).toEqual(wanted);
    rig.history().packAll();
    expect(steps()).toEqual(wanted);
    // Two hours and two days were touched, not the ten years between.
    expect(rowsOf(rig, "packed_days WHERE kind = 'rollups'")).toBe(2);
  });
});

describe("denials in the rollups", () => {
  test("are null while not visible, and are recounted after a late import", async () => {
    const rig = createRig();
    for (let minute = 0; minute < 3; minute++) {
      await rig.poll(outcomeOf({ at: a.NOON + minute * MINUTE_MS, counts: counts(1) }));
    }
    rig.clock.advance(2 * 86_400_000);
    rig.history().packAll();
    const denials = () =>
      rig
        .reader()
        .hours(rig.feature("compiler"), a.NOON, a.NOON + 60 * MINUTE_MS)
        .map(({ rollup }) => rollup.denials);
    expect(denials()).toEqual([null]);
    rig.store.sqlite.run("INSERT INTO denial_spans (server_id, from_at, to_at) VALUES ('eda', ?, NULL)", [
      a.NOON,
    ]);
    rig.store.sqlite.run(
      `INSERT INTO denials (server_id, daemon, feature, user, host, at, until, count, attempts, reason, code, outcome, told)
       VALUES ('eda', 'snpslmd', 'compiler', 'ann', NULL, ?1, ?1, 1, 3, NULL, NULL, 'denied', 1)`,
      [a.NOON + MINUTE_MS],
    );
    expect(denials()).toEqual([1]);
    rig.history().packAll();
    expect(denials()).toEqual([1]);
    expect(rowsOf(rig, "dirty WHERE kind IN ('hours', 'rollups')")).toBe(0);
  });
});

const look = (at: number, good = true): Look => ({
  at,
  good,
  intervalMs: MINUTE_MS,
  timeoutMs: MINUTE_MS / 2,
});

/** Looks in their order, over rows that a store would hold; `null` is a restart. */
function play(looks: readonly (Look | null)[]) {
  const rows = new Map<number, Coverage>();
  let own: number | null | undefined;
  const records: string[] = [];
  for (const one of looks) {
    if (one === null) {
      own = undefined;
      continue;
    }
    const sorted = [...rows.values()].sort((a, b) => a.from - b.from);
    const at = one.good ? one.at : Math.max(one.at, own ?? one.at);
    const looked = takeLook(own, one, {
      before: sorted.findLast(({ from }) => from <= at) ?? null,
      nextFrom: sorted.find(({ from }) => from > at)?.from ?? Infinity,
    });
    for (const row of looked.rows) rows.set(row.from, row);
    own = looked.from;
    records.push(own === null ? "nothing" : own === one.at ? "all" : "changes");
  }
  const covered = [...rows.values()].sort((a, b) => a.from - b.from).map(({ from, until }) => [from, until]);
  return { covered, records };
}

/** Looks by their minutes: `!` is a poll that failed, `restart` a restart of the process. */
function looksOf(text: string): (Look | null)[] {
  return text.split(" ").map((word) => {
    if (word === "restart") return null;
    return look(Number.parseFloat(word) * MINUTE_MS, !word.endsWith("!"));
  });
}

describe("coverage", () => {
  test.each<[string, string, string]>([
    ["one reading holds for an interval", "10", "10-11"],
    ["polls in time hold together", "10 11 13.5", "10-14.5"],
    ["later than 2 × interval + timeout is a gap", "10 12.6", "10-11 12.6-13.6"],
    ["a poll that failed ends it then", "10 11.5!", "10-11.5"],
    ["failures prove nothing", "10! 11!", ""],
    ["a late failure takes nothing more", "10 15! 16", "10-11 16-17"],
    ["a restart in time leaves no gap", "10 restart 12", "10-12 12-13"],
    ["a restart in time with a failure ends it then", "10 restart 12!", "10-12"],
    ["a long stop is a gap", "10 restart 30", "10-11 30-31"],
    ["a failure before the stop is not joined", "10 11! restart 12", "10-11 12-13"],
    [
      "time that was covered stays, until a clock that was set back has passed it",
      "100 101 60 61 99 100 101.5 103",
      "60-62 99-100 100-101.5 101.5-104",
    ],
    ["a clock set back a little records nothing twice", "100 101 100.5 102", "100-102 102-103"],
    ["a clock set forward is a gap", "10 100 101", "10-11 100-102"],
    ["a clock set back while the server fails takes back what is not proven", "10 5!", "10-10"],
  ])("%s", (_, looks, covered) => {
    const spans = play(looksOf(looks)).covered.map((span) => span.map((ms = 0) => ms / MINUTE_MS).join("-"));
    expect(spans.join(" ")).toBe(covered);
  });

  test("each coverage begins with all counts, followed by changes", () => {
    const { records } = play(looksOf("10 11 12! 13 restart 14"));
    expect(records).toEqual(["all", "changes", "nothing", "all", "all"]);
  });
});
