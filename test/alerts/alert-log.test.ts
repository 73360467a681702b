import { afterEach, expect, test } from "bun:test";
import { checkout, feature, reading, server } from "../domain/make.ts";
import { cleanUp } from "../store/place.ts";
import { createRig, MINUTE, type Rig } from "./rig.ts";

afterEach(cleanUp);

const HOUR = 60 * MINUTE;
const FULL = Array.from({ length: 30 }, (_, index) => `tool-${index}`);
const full = (rig: Rig, id: string, names = FULL) =>
  rig.poll(
    { reading: reading({ features: names.map((name) => feature({ name, used: 10, checkouts: [] })) }) },
    id,
  );
const SEATS = "error Alert fired: seats eda";
const lines = (rig: Rig) =>
  rig.log.lines
    .splice(0)
    .map(({ level, message, fields }) => `${level} ${message}: ${fields.rule} ${fields.server}`);

test("logs an alert that fires, rises and resolves, at the level of its severity", () => {
  const rig = createRig();
  rig.usage(1);
  rig.now += HOUR;
  rig.usage(8);
  rig.usage(10);
  rig.usage(9);
  for (let poll = 0; poll < 4; poll++) rig.usage(1);
  const about = { rule: "seats", server: "eda", daemon: "snpslmd", feature: "compiler" };
  expect(rig.log.lines).toMatchObject([
    { level: "warn", message: "Alert fired", fields: { ...about, value: 80, threshold: 80 } },
    { level: "error", message: "Alert raised", fields: { ...about, value: 100, threshold: 95 } },
    { level: "info", message: "Alert resolved", fields: about },
  ]);
});

test("lines do not name people", () => {
  const rig = createRig({ settings: { heldHours: 1 } });
  rig.usage(1);
  rig.now += 24 * HOUR;
  const held = checkout({ user: "ada", host: "ws01", startedAt: rig.now - 3 * HOUR });
  rig.poll({ reading: reading({ features: [feature({ used: 1, checkouts: [held] })] }) });
  rig.pass(2);
  expect(lines(rig)).toContain("warn Alert fired: held_too_long eda");
  expect(JSON.stringify(rig.log.lines)).not.toMatch(/ada|ws01/);
});

test("logs the first readings of an installation as one line per rule, and later alerts one by one", () => {
  const rig = createRig({}, [server(), server({ id: "cae" })]);
  full(rig, "eda");
  full(rig, "cae");
  expect(rig.said()).toHaveLength(60);
  expect(rig.log.lines[0]?.fields).toMatchObject({ alerts: 30 });
  expect(lines(rig)).toEqual([SEATS]);
  rig.now += HOUR;
  full(rig, "eda", [...FULL, "new", "newer"]);
  expect(lines(rig).slice(0, 3)).toEqual([SEATS, SEATS, "warn Alert fired: totals_changed eda"]);
});

test("alerts that must last count as first readings, too", () => {
  const rig = createRig({ settings: { forMs: 15 * MINUTE } });
  for (let poll = 0; poll < 20; poll++) full(rig, "eda");
  expect(rig.said()).toHaveLength(30);
  expect(lines(rig)).toEqual([SEATS]);
});

test("a server that is added later has its own lines; after a restart no reading is a first one", () => {
  const rig = createRig();
  full(rig, "eda");
  rig.setServers([server(), server({ id: "cae" })]);
  full(rig, "cae");
  expect(lines(rig)).toEqual([SEATS, "error Alert fired: seats cae"]);
  rig.restart();
  full(rig, "eda", [...FULL, "new", "newer"]);
  expect(lines(rig).slice(0, 3)).toEqual([SEATS, SEATS, "warn Alert fired: totals_changed eda"]);
});
