import { Database } from "bun:sqlite";
import { afterEach, expect, test } from "bun:test";
import { join } from "node:path";
import { createDenialLog, createEventBus, createStatusLog } from "../../src/daemon/events.ts";
import { denialEvent } from "../../src/domain/events.ts";
import type { ServerPicture } from "../../src/domain/picture.ts";
import { createLogging } from "../../src/system/log.ts";
import { daemon } from "../domain/make.ts";
import { denial, picture } from "../http/make.ts";
import { cleanUp, fixedClock, later, open, quickDirectory } from "../store/place.ts";
import { recordingLog } from "../store/recording-log.ts";

afterEach(cleanUp);

test("the warning that ids run ahead of the clock keeps its place, and no event is lost", async () => {
  const clock = fixedClock(Date.parse("2026-03-02T12:00:00.000Z"));
  const logging = createLogging("debug", clock, []);
  const { bus, events, logSink } = createEventBus(open(quickDirectory()), clock, logging.logOf("store"));
  logging.addSink(logSink);
  const log = logging.logOf("system");
  const told: number[] = [];
  bus.subscribe((batch) => void told.push(...batch.map(({ id }) => id)));
  // Log more than one event per millisecond, until the ids are more than a second ahead of the clock.
  for (let index = 0; index < 1_500; index++) log.info("line", { index });
  await Promise.resolve();
  bus.flush();
  const rows = events.page(0, 10_000);
  expect(told).toEqual(rows.map(({ id }) => id));
  expect(told).toHaveLength(1_501);
  expect(told).toEqual([...new Set(told)].sort((a, b) => a - b));
  expect(bus.holes()).toEqual([]);
  expect(rows.filter(({ json }) => json.includes('"message":"Event ids run ahead'))).toHaveLength(1);
});

test("while another program locks state.db, events are stored at once with reserved ids", () => {
  const directory = quickDirectory();
  const store = open(directory, { busyWaitMs: 0 });
  const clock = fixedClock(Date.parse("2026-03-02T12:00:00.000Z"));
  const log = recordingLog();
  const { bus, events } = createEventBus(store, clock, log);
  const other = new Database(join(directory, "state.db"));
  later(() => other.close());
  other.run("BEGIN IMMEDIATE");
  const told: number[] = [];
  bus.subscribe((batch) => void told.push(...batch.map(({ id }) => id)));
  const emit = (message: string) =>
    bus.emit({ type: "log", level: "info", message, source: "store", metadata: {} });
  for (let minute = 0; minute < 3; minute++, clock.advance(60_000)) {
    emit("line");
    bus.flush();
  }
  expect(events.page(0, 10).map(({ id }) => id)).toEqual(told);
  expect(told).toHaveLength(3);
  expect([bus.holes(), log.lines]).toEqual([[], []]);
  // Ids for pictures and samples are reserved above the ids of the stored events.
  expect(events.highestReserved()).toBeGreaterThan((told.at(-1) ?? 0) + 900);
  other.run("ROLLBACK");
  emit("free again");
  expect(events.highestReserved()).toBeGreaterThan(clock.time);
});

test("a denial is logged, stored and streamed without its user and host", () => {
  const clock = fixedClock(Date.parse("2026-03-02T12:00:00.000Z"));
  const logging = createLogging("info", clock, []);
  const { bus, events, logSink } = createEventBus(open(quickDirectory()), clock, logging.logOf("store"));
  logging.addSink(logSink);
  bus.subscribe(createDenialLog(logging.logOf("collector")));
  bus.emit(denialEvent(denial(clock.now(), { user: "zoe", host: "ws01", reason: "for zoe" })));
  bus.flush();
  const [line = ""] = events.page(0, 10, "log").map(({ json }) => json);
  expect(JSON.parse(line)).toMatchObject({
    level: "info",
    source: "collector",
    message: "Seats denied",
    metadata: { server: "eda", daemon: "acmed", feature: "solver", code: -4, outcome: "denied" },
  });
  expect(line).not.toMatch(/zoe|ws01/);
});

type Shown = Partial<ServerPicture>;

const error: ServerPicture["error"] = { code: "LICENSE_SERVER_UNREACHABLE", message: "no", details: null };
const acmed = daemon({ name: "acmed" });
const up: Shown = { status: "up", daemons: [acmed, daemon({ name: "toold" })] };
const half: Shown = { status: "degraded", daemons: [acmed, daemon({ name: "toold", status: "down" })] };
const gone: Shown = { status: "down", error, daemons: [daemon({ name: "acmed", status: "unknown" })] };

test.each<[string, Shown[], string[]]>([
  [
    "degraded and up again: one line each",
    [up, up, half, half, half, up, up],
    [
      "warn server is degraded, up to degraded",
      "warn license daemon is down, toold up to down",
      "info server is up again, degraded to up",
      "info license daemon is up again, toold down to up",
    ],
  ],
  ["no answer: logged by the collector", [up, gone, gone, up], []],
  [
    "down and up again",
    [{ status: "up" }, { status: "down" }, { status: "down" }, { status: "up" }],
    ["warn server is down, up to down", "info server is up again, down to up"],
  ],
  [
    "answers again, degraded",
    [{ status: "up" }, gone, { ...gone, status: "degraded", error: null }],
    ["warn server is degraded, down to degraded"],
  ],
])("%s", (_, pictures, expected) => {
  const log = recordingLog();
  const note = createStatusLog(log);
  let before: ServerPicture | null = null;
  for (const more of pictures) {
    const after: ServerPicture = picture("eda", more);
    note({ server: after.server, before, after, snapshot: { version: 1, servers: [after] } });
    before = after;
  }
  const lines = log.lines.map(({ level, message, fields: { daemon, from, to } }) => {
    const who = daemon === undefined ? "" : `${daemon} `;
    return `${level} ${message}, ${who}${from} to ${to}`;
  });
  expect(lines).toEqual(expected);
  for (const { fields } of log.lines) expect(fields.server).toBe("eda");
});
