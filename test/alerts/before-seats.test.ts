import { Database } from "bun:sqlite";
import { afterEach, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { createAlerts } from "../../src/store/alerts.ts";
import { migrate } from "../../src/store/database/migrate.ts";
import { MIGRATIONS, STATE_MIGRATIONS } from "../../src/store/migrations/migrations.ts";
import { NOON } from "../domain/make.ts";
import { cleanUp, open, temporaryDirectory } from "../store/place.ts";
import { createRig, TARGET, target } from "./rig.ts";

afterEach(cleanUp);

/** An alert from before `seats`: id, rule, severity, feature, value, notified targets, end. */
type Row = [
  id: number,
  rule: string,
  severity: string,
  feature: string | null,
  value: number | null,
  told: object,
  ended?: number,
];

const FULL: readonly Row[] = [
  [3, "usage", "warning", "compiler", 90, { mail: 5 }, 9],
  [4, "usage", "warning", "compiler", 100, { mail: 5 }],
  [5, "seats_exhausted", "warning", "compiler", 10, { pager: 6 }],
  [6, "queue", "critical", "compiler", 300, { mail: 7, pager: 7 }],
  [7, "queue", "warning", "linker", 2, {}],
  [8, "server_down", "critical", null, null, { mail: 8 }],
  [9, "seats_exhausted", "warning", "compiler", 11, {}, 10],
];

const FILES = ["licmond.db", "state.db"] as const;

/** Creates the files of an older version: both files, or the single file of 0.1. */
function before(rows: readonly Row[], files: readonly (typeof FILES)[number][] = FILES): string {
  const directory = temporaryDirectory();
  const steps = files.length === 2 ? 22 : 15;
  for (const name of files) {
    const migrations = name === "state.db" ? STATE_MIGRATIONS.slice(0, 1) : MIGRATIONS.slice(0, steps);
    const path = join(directory, name);
    const sqlite = new Database(path, { create: true, strict: true });
    migrate(sqlite, path, migrations);
    const insert = sqlite.query(
      `INSERT INTO alerts (id, rule, severity, server, daemon, feature, message, value, threshold, started_at, resolved_at, told)
       VALUES (?, ?, ?, 'eda', ?, ?, 'as it was', ?, 10, ?, ?, ?)`,
    );
    for (const [id, rule, severity, feature, value, told, ended = null] of rows) {
      // state.db has no ended alerts.
      if (ended !== null && name === "state.db") continue;
      const daemon = feature === null ? null : "snpslmd";
      insert.run(id, rule, severity, daemon, feature, value, NOON + id, ended, JSON.stringify(told));
      if (ended !== null) continue;
      const subject = JSON.stringify({ rule, server: "eda", daemon, feature, detail: null });
      const body = `{"level":1,"runs":[{"above":1,"below":0,"since":${NOON}}],"until":null}`;
      sqlite.query("INSERT INTO alert_watches VALUES (?, ?)").run(subject, body);
    }
    const waiting = `{"rule":"usage","server":"eda","daemon":"snpslmd","feature":"waits","detail":null}`;
    sqlite.query('INSERT INTO alert_watches VALUES (?, \'{"level":0,"runs":[]}\')').run(waiting);
    sqlite.close();
  }
  return directory;
}

test.each<[string, (typeof FILES)[number][]]>([
  ["both files", [...FILES]],
  ["the one of 0.1", ["licmond.db"]],
])("usage, seats_exhausted and queue of a feature are one alert, from %s", (_, files) => {
  const store = open(before(FULL, files));
  const { sqlite } = store.state;
  const rows = sqlite
    .query<Record<string, unknown>, []>(
      `SELECT id, rule, severity, feature, value, peak_value AS peak, started_at AS startedAt, fired_at AS firedAt, told
         FROM alerts WHERE resolved_at IS NULL ORDER BY id`,
    )
    .all();
  for (const { id, startedAt, firedAt } of rows)
    expect([startedAt, firedAt]).toEqual([NOON + Number(id), NOON + Number(id)]);
  const told = rows.map((row) => Object.keys(JSON.parse(String(row.told)) as object).sort());
  expect(
    rows.map(({ id, rule, severity, feature, value, peak }, index) => {
      return [id, rule, severity, feature, value, peak, told[index]];
    }),
  ).toEqual([
    [4, "seats", "critical", "compiler", 100, 100, ["mail", "pager"]],
    [7, "seats", "warning", "linker", null, null, []],
    [8, "server_down", "critical", null, null, null, ["mail"]],
  ]);
  const watched = sqlite.query<{ subject: string; body: string }, []>("SELECT * FROM alert_watches").all();
  expect(
    watched
      .map(({ subject, body }) => {
        const { rule, feature } = JSON.parse(subject) as Record<string, string>;
        return [rule, feature ?? "", (JSON.parse(body) as { level: number }).level];
      })
      .sort(),
  ).toEqual([
    ["seats", "compiler", 2],
    ["seats", "linker", 1],
    ["server_down", "", 1],
  ]);
  expect(createAlerts(store).get(3)).toMatchObject({ rule: "seats", resolvedAt: 9, peakValue: 90 });
  expect(createAlerts(store).get(9)).toMatchObject({ value: 110, threshold: 100, peakValue: 110 });
});

test("the next polls send no message while nothing changes, and one when the alert resolves", () => {
  const rows = FULL.slice(0, 4);
  const targets = [target("mail"), TARGET];
  const settings = { forMs: 15 * 60_000, reminderMs: 0 };
  const rig = createRig({ targets, settings }, undefined, before(rows));
  rig.now += 1_000;
  for (let poll = 0; poll < 20; poll++) rig.usage(10);
  expect(rig.notes()).toEqual([]);
  expect(rig.said()).toEqual([]);
  const now = { severity: "critical", message: "All 10 seats of compiler are in use", threshold: 95 };
  expect(rig.engine.firing()).toMatchObject([{ id: 4, startedAt: NOON + 4, ...now }]);
  for (let poll = 0; poll < 32; poll++) rig.usage(1);
  expect(rig.notes().map(({ target, kind, alert }) => [target, kind, alert.id])).toEqual([
    ["mail", "resolved", 4],
    ["pager", "resolved", 4],
  ]);
});

test("without licmond.db the alerts come back from state.db", () => {
  const directory = before(FULL);
  rmSync(join(directory, "licmond.db"));
  const { firing } = createAlerts(open(directory));
  expect(firing().map(({ id, rule, firedAt }) => [id, rule, firedAt])).toEqual(
    [4, 7, 8].map((id) => [id, id === 8 ? "server_down" : "seats", NOON + id]),
  );
});
