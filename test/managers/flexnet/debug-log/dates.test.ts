import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { natureOf } from "../../../../src/managers/debug-log/lines.ts";
import { createDebugLogReader } from "../../../../src/managers/flexnet/debug-log/reader.ts";
import { readLog, times } from "../../read-log.ts";

const out = (time: string, daemon = "acmed") => `${time} (${daemon}) OUT: "f" a@h  \n`;
const stamp = (time: string, date: string) => `${time} (acmed) TIMESTAMP ${date}\n`;

describe("days", () => {
  test.each<[string, string, string[]]>([
    [
      "by roll-over",
      stamp(" 9:00:00", "1/30/2026") + out("23:59:59") + out(" 0:00:01") + out("13:00:00") + out(" 0:30:00"),
      ["2026-01-30T23:59:59", "2026-01-31T00:00:01", "2026-01-31T13:00:00", "2026-02-01T00:30:00"],
    ],
    [
      "before the first date, backwards from it",
      out("22:00:00") + out("1:00:00") + stamp("2:00:00", "1/30/2026"),
      ["2026-01-29T22:00:00", "2026-01-30T01:00:00"],
    ],
    [
      "without any date, by the time of the file",
      out("22:00:00") + out("1:00:00"),
      ["2026-01-30T22:00:00", "2026-01-31T01:00:00"],
    ],
    [
      "daemons that write in turns, small falls",
      stamp("9:00:00", "1/30/2026") + out("9:00:05") + out("9:00:03", "b") + out("8:59:59", "b"),
      ["2026-01-30T09:00:05", "2026-01-30T09:00:03", "2026-01-30T08:59:59"],
    ],
    [
      "a line of before midnight that comes late",
      stamp("23:00:00", "1/30/2026") + out("0:00:01") + out("23:59:58", "b") + out("0:00:02"),
      ["2026-01-31T00:00:01", "2026-01-30T23:59:58", "2026-01-31T00:00:02"],
    ],
    [
      "a quiet day, told by the next date",
      stamp("20:00:00", "1/30/2026") + out("20:01:00") + out("14:00:00") + stamp("14:10:00", "1/31/2026"),
      ["2026-01-30T20:01:00", "2026-01-31T14:00:00"],
    ],
    [
      "a clock that was set back, told by the next date",
      stamp("20:00:00", "1/30/2026") + out("20:01:00") + out("14:00:00") + stamp("14:10:00", "1/30/2026"),
      ["2026-01-30T20:01:00", "2026-01-30T14:00:00"],
    ],
    [
      "SLOG's date, in any language",
      "7:00:00 (acmed) (@acmed-SLOG@) Start-Date: Fri Jan 30 2026 07:00:00 Hora de verano romance\n" +
        out("7:00:01"),
      ["2026-01-30T07:00:01"],
    ],
    [
      "dates of things past are no dates",
      stamp("7:00:00", "1/30/2026") +
        "7:00:00 (acmed) (@acmed-SLOG@) Peak active connections #2 attempted at Fri Jan 02 2026 05:00:00 x\n" +
        "7:00:00 (acmed) (@acmed-SLOG@) Time: Fri Jan 02 2026 05:00:00 x\n" +
        out("7:00:01"),
      ["2026-01-30T07:00:01"],
    ],
    [
      "dates on every line",
      '2026-01-30 23:59:59 (acmed) OUT: "f" a@h  \n2026-02-02T10:00:00 (acmed) OUT: "f" a@h  \n2/3/2026 10:00:00 (acmed) OUT: "f" a@h  \n',
      ["2026-01-30T23:59:59", "2026-02-02T10:00:00", "2026-02-03T10:00:00"],
    ],
  ])("%s", (_name, text, expected) => {
    expect(times(readLog(text).events)).toEqual(expected);
  });

  test.each([
    ["an hour", "Europe/Berlin", "10/25/2026", "2:30 2:59 2:01 2:58 3:05", "00:30 00:59 01:01 01:58 02:05"],
    ["half an hour", "Australia/Lord_Howe", "4/5/2026", "1:59 1:40 1:58 2:05", "14:59 15:10 15:28 15:35"],
  ])(
    "%s that occurs twice is no midnight, and its second time is later",
    (_, zone, day, printed, expected) => {
      const text = printed.split(" ").map((time) => out(`${time}:00`));
      const { events } = readLog(stamp("1:00:00", day) + text.join(""), { zone });
      const hours = times(events).map((time) => time.slice(11, 16));
      expect(hours.join(" ")).toBe(expected);
    },
  );

  test("counts missing days and moved events", () => {
    const jump = readLog(stamp("9:00:00", "1/30/2026") + stamp("10:00:00", "2/3/2026")).reader.counts;
    expect(jump).toMatchObject({ dateJumps: 1, redated: 0 });
    const moved = readLog(stamp("20:00:00", "1/30/2026") + out("14:00:00") + stamp("14:10:00", "1/31/2026"));
    expect(moved.reader.counts).toMatchObject({ dateJumps: 1, redated: 1 });
    expect(readLog(out("14:00:00")).reader.counts).toMatchObject({ inferredDates: 1 });
  });

  test("lines of a growing log take the closest day", () => {
    const events: number[] = [];
    const reader = createDebugLogReader({
      zone: "Europe/Berlin",
      hold: false,
      start: { day: 0, second: -1, daemons: [] },
      onEvent: ({ at }) => events.push(at),
    });
    reader.near(Date.UTC(2026, 0, 30, 23, 0, 1));
    reader.line(out("23:59:59"));
    reader.line(out("0:00:01"));
    reader.near(Date.UTC(2026, 1, 4, 11));
    reader.line(out("12:00:00"));
    reader.flush();
    const made = ["2026-01-30T22:59:59Z", "2026-01-30T23:00:01Z", "2026-02-04T11:00:00Z"];
    expect(events).toEqual(made.map(Date.parse));
    expect(reader.state()).toMatchObject({ day: Date.UTC(2026, 1, 4) / 86_400_000, second: 43_200 });
  });
});

test("a log with a date every six hours restores all times", () => {
  const gaps = fc.array(fc.integer({ min: 0, max: 9 * 3600 }), { minLength: 1, maxLength: 60 });
  const zones = fc.constantFrom("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata");
  fc.assert(
    fc.property(gaps, zones, (seconds, zone) => {
      // Clocks do not change in January.
      let at = Date.UTC(2026, 0, 5, 7);
      let nextStamp = at;
      let text = "";
      const made: number[] = [];
      const clock = (ms: number) => new Date(ms).toLocaleTimeString("en-GB", { timeZone: zone });
      const date = (ms: number) => new Date(ms).toLocaleDateString("en-US", { timeZone: zone });
      for (const gap of seconds) {
        at += gap * 1000;
        while (nextStamp <= at) {
          text += stamp(clock(nextStamp), date(nextStamp));
          nextStamp += 6 * 3_600_000;
        }
        text += out(clock(at));
        made.push(at);
      }
      expect(readLog(text, { zone }).events.map((event) => event.at)).toEqual(made);
    }),
    { numRuns: 100 },
  );
});

test("distinguishes encrypted report logs from text", () => {
  expect(natureOf(new TextEncoder().encode(out("1:00:00")))).toBe("text");
  expect(natureOf(Uint8Array.from({ length: 600 }, (_, index) => (index * 37) % 256))).toBe("binary");
  expect(natureOf(new Uint8Array([0xff, 0xfe, 0x31, 0]))).toBe("utf-16");
  expect(natureOf(new TextEncoder().encode(`${"\0".repeat(50)}${out("1:00:00")}`))).toBe("text");
});
