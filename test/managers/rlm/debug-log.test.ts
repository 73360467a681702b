import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { DebugLogEvent } from "../../../src/managers/debug-log/debug-log.ts";
import { debugLog } from "../../../src/managers/rlm/debug-log.ts";
import { readLog as readLogOf } from "../read-log.ts";
import { fixture } from "./read.ts";

const readLog = (text: string, { zone = "UTC", lastWrite = Date.UTC(2026, 0, 1, 9) } = {}) =>
  readLogOf(text, { zone, lastWrite, log: debugLog });

function readFrom(
  lines: readonly string[],
  { zone = "UTC", day = 0, inferred = false, near = null as number | null },
) {
  const events: DebugLogEvent[] = [];
  const start = { day, second: -1, daemons: [] };
  const onEvent = (event: DebugLogEvent) => void events.push(event);
  const reader = debugLog.createReader({ zone, start, inferred, hold: false, onEvent });
  reader.near(near);
  for (const line of lines) reader.line(line);
  reader.flush();
  return { events, reader, counts: reader.counts };
}

const at = (event: DebugLogEvent) => new Date(event.at).toISOString().slice(0, 16);

describe("a whole log", () => {
  const { events, reader } = readLog(fixture("debug-log.txt"));
  const { counts } = reader;

  test("checkouts, check-ins and denials, over the turn of the year", () => {
    const seats = events.flatMap((event) => ("feature" in event ? [event] : []));
    expect(
      seats.map((event) => [at(event), event.kind, event.daemon, event.feature, event.version, event.count]),
    ).toEqual([
      ["2025-12-31T09:15", "OUT", "paintco", "brush-pro", "v2025.06", 1],
      ["2025-12-31T09:16", "OUT", "paintco", "view.free", "v1.0", 3],
      ["2025-12-31T09:20", "DENIED", "paintco", "brush-pro", "v2025.06", 1],
      ["2025-12-31T09:20", "DENIED", "paintco", "brush-pro", "v2031.01", 2],
      ["2025-12-31T17:40", "IN", "paintco", "brush-pro", "v2025.06", 1],
      ["2026-01-01T08:02", "IN", "paintco", "view.free", "v1.0", 3],
    ]);
    expect(seats.map(({ user, host }) => `${user} on ${host}`)).toEqual([
      "ann.lee on ws-01",
      "CORP\\bob o'neil@mail.org on ws-02",
      "eva on ws-05",
      "tom by hand on ws-06",
      "ann.lee on ws-01",
      "CORP\\bob o'neil@mail.org on ws-02",
    ]);
    expect(seats.map(({ reason, code }) => [reason, code])).toEqual([
      [null, null],
      [null, null],
      ["All licenses in use", -22],
      ["License server does not support this version", -21],
      ["client exit", null],
      [null, null],
    ]);
  });

  test("a start of rlm ends all seats, one of an ISV server its own", () => {
    const starts = events.filter((event) => !("feature" in event));
    expect(starts).toEqual([
      { kind: "DAEMON_UP", at: Date.UTC(2025, 11, 30, 23, 58), daemon: null },
      { kind: "DAEMON_UP", at: Date.UTC(2025, 11, 30, 23, 58), daemon: "paintco" },
    ]);
  });

  test("an event that cannot be read is counted, with its line", () => {
    expect(counts).toMatchObject({ malformed: 1, inferredDates: 6, withoutHead: 2 });
    expect(counts.events).toMatchObject({ OUT: 2, IN: 2, DENIED: 2 });
    expect(counts.samples).toEqual([{ line: 29, text: "01/01 08:03 (paintco) OUT: brush-pro by nobody" }]);
    expect(reader.lastAt).toBe(Date.UTC(2026, 0, 1, 8, 4));
  });

  test("times are in the server's zone", () => {
    const [first] = readLog(fixture("debug-log.txt"), {
      zone: "America/New_York",
      lastWrite: Date.UTC(2026, 0, 1, 20),
    }).events;
    expect(first?.at).toBe(Date.UTC(2025, 11, 31, 4, 58));
  });
});

describe("the year", () => {
  const out = (date: string) => `${date} 09:00 (paintco) OUT: a v1 by u@h`;
  const days = ({ events }: { readonly events: readonly DebugLogEvent[] }) =>
    events.map((event) => at(event).slice(0, 10));

  test.each([
    [
      "of a log over several years",
      ["11/02", "06/01", "02/28", "11/30", "05/05"],
      ["2022-11-02", "2023-06-01", "2024-02-28", "2024-11-30", "2025-05-05"],
    ],
    ["of a 29th of February", ["02/28", "02/29", "03/01"], ["2024-02-28", "2024-02-29", "2024-03-01"]],
    [
      "of a line that was written late",
      ["12/31", "01/01", "12/31"],
      ["2024-12-31", "2025-01-01", "2024-12-31"],
    ],
  ])("%s is that of its file at the end", (_, dates, expected) => {
    expect(
      days(readLog(dates.map(out).join("\n"), { lastWrite: Date.parse(`${expected.at(-1)}T12:00Z`) })),
    ).toEqual(expected);
  });

  test("of a line that is followed is the one closest to now", () => {
    expect(days(readFrom([out("12/31")], { near: Date.UTC(2026, 0, 1, 0, 0, 2) }))).toEqual(["2025-12-31"]);
    expect(days(readFrom([out("01/01")], { near: Date.UTC(2025, 11, 31, 23, 59, 58) }))).toEqual([
      "2026-01-01",
    ]);
  });
});

test("a reason belongs to the denial above it alone", () => {
  const denied = (user: string) => `06/04 09:15 (paintco) DENIED: (1) a v1 to ${user}@h`;
  const reason = "\tAll licenses in use (-22)";
  const reasons = (...lines: string[]) =>
    readFrom(lines, { near: Date.UTC(2025, 5, 4) }).events.map((event) =>
      "code" in event ? event.code : null,
    );
  expect(reasons(denied("a"), reason, denied("b"), reason)).toEqual([-22, -22]);
  expect(reasons(denied("a"), denied("b"), reason)).toEqual([null, -22]);
  expect(reasons(denied("a"), "06/04 09:16 (other) x (-22)", reason)).toEqual([null]);
  expect(reasons(denied("a"))).toEqual([null]);
});

test("no lines make it throw", () => {
  const word = fc.constantFrom(
    "06/04 09:15 (a) ",
    "02/29 24:00 (a) ",
    "OUT: ",
    "DENIED: ",
    "(1) ",
    "(",
    " by ",
    " to ",
    " v1",
    "u@h",
    "@",
    "\t",
    "(-22)",
  );
  const line = fc
    .array(fc.oneof(word, fc.string({ unit: "binary", maxLength: 6 })), { maxLength: 8 })
    .map((parts) => parts.join(""));
  fc.assert(
    fc.property(fc.array(line, { maxLength: 12 }), (lines) => {
      const { events, reader } = readLog(lines.join("\n"));
      const { counts } = reader;
      expect(counts.lines).toBeLessThanOrEqual(lines.join("\n").split("\n").length);
      for (const event of events) expect(event.at).toBeFinite();
    }),
    { numRuns: 400 },
  );
});

test("a server that exits is a notice, of rlm itself about the whole license server", () => {
  const notices: unknown[] = [];
  const reader = debugLog.createReader({
    zone: "UTC",
    start: { day: 0, second: -1, daemons: [] },
    hold: false,
    onEvent: () => {},
    onNotice: (notice) => void notices.push(notice),
  });
  reader.near(Date.UTC(2025, 5, 4, 9, 16));
  const texts = ["Cannot bind Web Server port 5054, exiting", "No licenses, exiting"];
  reader.line(`06/04 09:15 (rlm) ${texts[0]}`);
  reader.line(`06/04 09:15 (paintco) ${texts[1]}`);
  reader.line("06/04 09:15 (paintco) OUT: exiting v1 by u@h");
  const at = Date.UTC(2025, 5, 4, 9, 15);
  expect(notices).toEqual([
    { about: "exit", at, daemon: null, text: texts[0] },
    { about: "exit", at, daemon: "paintco", text: texts[1] },
  ]);
});
