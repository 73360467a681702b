import { afterEach, describe, expect, test } from "bun:test";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { createReader } from "../../src/history/reader.ts";
import * as a from "../domain/make.ts";
import { cleanUp, open, temporaryDirectory } from "../store/place.ts";
import { createRig, outcomeOf } from "./rig.ts";

afterEach(cleanUp);

const MINUTE = 60_000;
const counts = (used: number) => new Map([["compiler", { total: 10, used, queued: 0 }]]);

function rowsOf(rig: ReturnType<typeof createRig>, table: string): number {
  const row = rig.store.sqlite.query<{ n: number }, []>(`SELECT count(*) AS n FROM ${table}`).get();
  return row?.n ?? Number.NaN;
}

describe("a poll", () => {
  test("that changes nothing writes no sample and no other coverage", async () => {
    const rig = createRig();
    for (let minute = 0; minute < 30; minute++) {
      await rig.poll(outcomeOf({ at: a.NOON + minute * MINUTE, counts: counts(4) }));
    }
    expect(rowsOf(rig, "samples")).toBe(1);
    expect(rowsOf(rig, "coverage")).toBe(1);
    const { steps } = rig.reader().series(rig.feature("compiler"), a.NOON, a.NOON + 30 * MINUTE);
    expect(steps.map(({ at, used }) => [at - a.NOON, used])).toEqual([
      [0, 4],
      // Nobody has looked behind the last poll yet.
      [29 * MINUTE, null],
    ]);
  });

  test("whose transaction fails is not taken for stored: the next one says what held", async () => {
    const rig = createRig();
    await rig.poll(outcomeOf({ at: a.NOON, counts: counts(4) }));
    rig.store.sqlite.run("PRAGMA query_only = ON");
    await rig.poll(outcomeOf({ at: a.NOON + MINUTE, counts: counts(5) }));
    rig.store.sqlite.run("PRAGMA query_only = OFF");
    await rig.poll(outcomeOf({ at: a.NOON + 2 * MINUTE, counts: counts(5) }));
    rig.clock.advance(MINUTE);
    const { steps } = rig.reader().series(rig.feature("compiler"), a.NOON, a.NOON + 3 * MINUTE);
    expect(steps.map(({ at, used }) => [at - a.NOON, used])).toEqual([
      [0, 4],
      [2 * MINUTE, 5],
    ]);
  });

  test("is all there is after the process died: nothing is covered that nobody saw", async () => {
    const rig = createRig();
    for (let minute = 0; minute < 3; minute++) {
      await rig.poll(outcomeOf({ at: a.NOON + minute * MINUTE, counts: counts(minute) }));
    }
    // The files as a death leaves them: database and log, nothing closed.
    const copy = temporaryDirectory();
    for (const name of ["licmond.db", "licmond.db-wal"]) {
      cpSync(join(rig.store.directory, name), join(copy, name));
    }
    const store = open(copy);
    const reader = createReader(store.sqlite, { now: a.NOON + 60 * MINUTE });
    const [feature] = reader.features();
    if (feature === undefined) throw new Error("no feature");
    const { steps } = reader.series(feature, a.NOON, a.NOON + 60 * MINUTE);
    expect(steps.map(({ at, used }) => [at - a.NOON, used])).toEqual([
      [0, 0],
      [MINUTE, 1],
      [2 * MINUTE, 2],
      [3 * MINUTE, null],
    ]);
  });

  test("of many hours ago, on a clock that was wrong for a while, leaves later history as it was", async () => {
    const rig = createRig();
    await rig.poll(outcomeOf({ at: a.NOON, counts: counts(1) }));
    await rig.poll(outcomeOf({ at: a.NOON + MINUTE, counts: counts(1) }));
    const wrong = a.NOON - 10 * 365 * 86_400_000;
    await rig.poll(outcomeOf({ at: wrong, counts: counts(9) }));
    await rig.poll(outcomeOf({ at: wrong + MINUTE, counts: counts(9) }));
    await rig.poll(outcomeOf({ at: a.NOON + 2 * MINUTE, counts: counts(1) }));
    await rig.poll(outcomeOf({ at: a.NOON + 3 * MINUTE, counts: counts(2) }));
    rig.clock.advance(2 * 86_400_000);
    const steps = () =>
      rig
        .reader()
        .series(rig.feature("compiler"), a.NOON - MINUTE, a.NOON + 5 * MINUTE)
        .steps.map(({ at, used }) => [at - a.NOON, used]);
    const wanted = [
      [-MINUTE, null],
      [0, 1],
      [3 * MINUTE, 2],
      [4 * MINUTE, null],
    ];
    expect(steps()).toEqual(wanted);
    rig.history().packAll();
    expect(steps()).toEqual(wanted);
    // Two hours and two days were touched, not the ten years between.
    expect(rowsOf(rig, "rollup_days")).toBe(2);
  });
});

describe("denials in the rollups", () => {
  test("are null where nobody could see them, and are counted again when one is learnt late", async () => {
    const rig = createRig();
    for (let minute = 0; minute < 3; minute++) {
      await rig.poll(outcomeOf({ at: a.NOON + minute * MINUTE, counts: counts(1) }));
    }
    rig.clock.advance(2 * 86_400_000);
    rig.history().packAll();
    const denials = () =>
      rig
        .reader()
        .hours(rig.feature("compiler"), a.NOON, a.NOON + 60 * MINUTE)
        .map(({ rollup }) => rollup.denials);
    expect(denials()).toEqual([null]);
    rig.store.sqlite.run("INSERT INTO denial_spans (server_id, from_at, to_at) VALUES ('eda', ?, NULL)", [
      a.NOON,
    ]);
    rig.store.sqlite.run(
      `INSERT INTO denials (server_id, daemon, feature, user, host, at, until, count, attempts, reason, code, outcome, told)
       VALUES ('eda', 'snpslmd', 'compiler', 'ann', NULL, ?1, ?1, 1, 3, NULL, NULL, 'denied', 1)`,
      [a.NOON + MINUTE],
    );
    expect(denials()).toEqual([1]);
    rig.history().packAll();
    expect(denials()).toEqual([1]);
    expect(rowsOf(rig, "history_open")).toBe(0);
  });
});
