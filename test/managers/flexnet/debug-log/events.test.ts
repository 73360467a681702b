import { expect, test } from "bun:test";
import fc from "fast-check";
import { createLineCutter } from "../../../../src/managers/debug-log/lines.ts";
import { readLog } from "../../read-log.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

function cut(pieces: Iterable<Uint8Array>): string[] {
  const lines: string[] = [];
  const cutter = createLineCutter();
  for (const piece of pieces) cutter.feed(piece, (line) => lines.push(line));
  cutter.finish((line) => lines.push(line));
  return lines;
}

test("NULs before a line are skipped", () => {
  const hole = new Uint8Array(256 * 1024);
  function* log() {
    for (let index = 0; index < 400; index++) yield hole;
    yield bytes("\0\0 8:00:00 (acmed) OUT: ");
    yield bytes('"f" a@h\n9:00:00 (acmed) x\n');
  }
  expect(cut(log())).toEqual([' 8:00:00 (acmed) OUT: "f" a@h', "9:00:00 (acmed) x"]);
});

test("a line of several pieces, and one that never ends", () => {
  const junk = bytes("j".repeat(50_000));
  expect(cut([bytes("one "), bytes("line\r\n"), bytes("next")])).toEqual(["one line", "next"]);
  expect(cut([junk, junk, junk, junk, bytes("\nend\n")]).map((line) => line.length)).toEqual([
    100_000, 100_000, 0, 3,
  ]);
});

// Quadratic work would take minutes and time out.
test.each([
  ["carriage returns", () => bytes(`${"\r".repeat(4_000_000)}x`)],
  [
    "lines behind an open parenthesis",
    () => bytes(`8:00:00 (acmed) OUT: "f" a@h (open\n${"junk junk\n".repeat(200_000)}`),
  ],
  ["blanks", () => bytes(`${" ".repeat(4_000_000)}x`)],
])("hostile %s end in time", (_, make) => {
  const { reader } = readLog(make());
  expect(reader.counts.withoutHead).toBeGreaterThan(0);
});

const HEAD = "12:00:00 (acmed) TIMESTAMP 1/30/2026\n";
const nobody = { data: null, count: 1, reason: null, code: null, handle: null, version: null };

test.each<[string, string, object]>([
  [
    "out",
    'OUT: "solver" ada@ws01  ',
    { ...nobody, kind: "OUT", feature: "solver", user: "ada", host: "ws01" },
  ],
  ["in, why", 'IN: "solver" ada@ws01  (INACTIVE)', { kind: "IN", host: "ws01", reason: "INACTIVE" }],
  [
    "data, licenses and shutdown",
    'IN: "solver" ada@ws01 [MSC:View] (5 licenses) (SHUTDOWN)',
    { data: "MSC:View", count: 5, reason: "SHUTDOWN" },
  ],
  ["user with blanks and accents", 'OUT: "f" Mª José Nuñez@ws-1  ', { user: "Mª José Nuñez", host: "ws-1" }],
  ["user with a domain", 'OUT: "f" ada@example.org@ws01  ', { user: "ada@example.org", host: "ws01" }],
  ["data with an @", 'OUT: "f" ada@ws01  [x@y z] ', { user: "ada", host: "ws01", data: "x@y z" }],
  ["no quotes", "OUT: TOKENS ada@ws01  [DOORS] (3 licenses)", { feature: "TOKENS", data: "DOORS", count: 3 }],
  ["host missing", 'OUT: "f" ada', { user: "ada", host: null }],
  [
    "denied, with its code",
    'DENIED: "f" ada@ws01  (Licensed number of users already reached. (-4,342:10054 ""))',
    { kind: "DENIED", reason: "Licensed number of users already reached.", code: -4, user: "ada" },
  ],
  [
    "denied, several licenses",
    'DENIED: "f" ada@ws01  (25 licenses) (Users are queued for this feature. (-24,332))',
    { count: 25, reason: "Users are queued for this feature.", code: -24 },
  ],
  [
    "unsupported, with the feature's key",
    'UNSUPPORTED: "f" (BF04C1B183DD400E147F) ada@ws01  (No such feature exists. (-5,346))',
    { kind: "UNSUPPORTED", user: "ada", host: "ws01", code: -5, reason: "No such feature exists." },
  ],
  [
    "verbose: blanks in user and project",
    'OUT: "f" Jo Doe@ws01  (2 licenses) ^^^ 1.0 Jo Doe 192.0.2.1 298 0x12CE 3 10 my own project 11 19 1/30/2026 12:00 0 ^^^',
    { user: "Jo Doe", host: "ws01", count: 2, version: "1.0", handle: "12CE" },
  ],
  ["queued", 'QUEUED: "f" ada@ws01  ', { kind: "QUEUED", user: "ada" }],
  ["dequeued", 'DEQUEUED: "f" ada@ws01  ', { kind: "DEQUEUED" }],
  ["upgrade", 'UPGRADE: "f" ada@ws01  (5 licenses)', { kind: "UPGRADE", count: 5 }],
  ["expired", "EXPIRED: solver", { kind: "EXPIRED", feature: "solver", user: null }],
  [
    "old checkin",
    "IN: solver by ada (2 licenses) (used: 0:01)",
    { feature: "solver", user: "ada", count: 2 },
  ],
  ["old denial", "DENIED: 2 solver to ada (01/30/26 12:00)", { feature: "solver", user: "ada", count: 2 }],
])("%s", (_name, message, expected) => {
  const { events, reader } = readLog(`${HEAD}12:00:01 (acmed) ${message}\n`);
  expect(events).toHaveLength(1);
  expect(events[0]).toMatchObject({ at: Date.UTC(2026, 0, 30, 12, 0, 1), daemon: "acmed", ...expected });
  expect(reader.counts).toMatchObject({ malformed: 0, withoutHead: 0 });
});

test("wrapped lines belong to the event before", () => {
  const { events, reader } = readLog(
    `${HEAD}12:00:01 (acmed) DENIED: DOORS ada@ws01  [x] \n(Licensed number of users already reached. (-4,342:10054 )) \n` +
      '12:00:02 (acmed) OUT: TOKENS ada@ws01  [DOORS] \n(3 licenses)\n12:00:03 (acmed) DENIED: "f" bob@ws02  (Licensed number of users\nalready reached. (-4,342))\n',
  );
  expect(events).toMatchObject([
    { kind: "DENIED", data: "x", code: -4 },
    { kind: "OUT", count: 3, data: "DOORS" },
    { kind: "DENIED", user: "bob", reason: "Licensed number of users already reached.", code: -4 },
  ]);
  expect(reader.counts.withoutHead).toBe(0);
});

test("forks of a daemon are that daemon, and a name that only looks so is not", () => {
  const { events } = readLog(
    `${HEAD}12:00:01 (acmed_2) OUT: "f" a@h  \n12:00:02 (other_1) OUT: "f" a@h  \n12:00:03 (lmgrd) Started acmed (pid 7)\n`,
  );
  expect(events.map(({ daemon }) => daemon)).toEqual(["acmed", "other_1", "acmed"]);
});

test("daemons that begin and end", () => {
  const { events } = readLog(
    "10:00:00 (lmgrd) FlexNet Licensing (v11.19 build 1 x64) started on lic1 (linux) (1/30/2026)\n" +
      "10:00:01 (lmgrd) Started acmed (internet tcp_port 1 pid 9)\n10:00:02 (acmed) EXITING DUE TO SIGNAL 15 Exit reason 4\n" +
      "10:00:03 (lmgrd) acmed exited with status 28 (Communications error)\n10:00:04 (lmgrd) REStarted acmed (internet tcp_port 1 pid 9)\n" +
      "10:00:05 (lmgrd) Shutting down acmed pid=9\n10:00:06 (lmgrd) EXITING DUE TO SIGNAL 15\n",
  );
  const told = events.map(({ kind, daemon }) => `${kind.slice("DAEMON_".length)} ${daemon}`).join(", ");
  expect(told).toBe("UP null, UP acmed, DOWN acmed, DOWN acmed, UP acmed, DOWN acmed, DOWN null");
});

test("unknown lines are counted", () => {
  const { events, reader } = readLog(
    `${HEAD}no head at all\n12:00:01 (acmed) OUT: \n12:00:0x (acmed) OUT: "f" a@h  \n12:00:02 (acmed) Something else\n\n`,
  );
  expect(events).toMatchObject([{ at: Date.UTC(2026, 0, 30, 12, 0, 1) }]);
  const { lines, samples, withoutHead, malformed, brokenTimes, otherMessages, timestamps } = reader.counts;
  expect([lines, withoutHead, malformed, brokenTimes, otherMessages, timestamps]).toEqual([6, 1, 1, 1, 1, 1]);
  expect(samples).toEqual([{ line: 3, text: "12:00:01 (acmed) OUT: " }]);
});

test("UTF-8 and Latin-1 in one file, a BOM, CRLF", () => {
  const out = (second: number, user: string) => `12:00:0${second} (acmed) OUT: "f" ${user}@h\r\n`;
  const { events } = readLog(
    Buffer.concat([
      Buffer.from(`\ufeff${HEAD.trim()}\r\n${out(1, "José")}`),
      Buffer.from(out(2, "José"), "latin1"),
      Buffer.from(out(3, "Ünal").trim()),
    ]),
  );
  expect(events).toMatchObject([{ user: "José" }, { user: "José", host: "h" }, { user: "Ünal" }]);
});

const word = fc.stringMatching(/^[A-Za-z0-9_.ñé-]{1,8}$/);
const seat = fc.record({
  kind: fc.constantFrom("OUT", "IN", "DENIED", "QUEUED", "DEQUEUED"),
  feature: fc.stringMatching(/^[A-Za-z0-9_.:+-]{1,12}$/),
  user: fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join(" ")),
  host: word,
  data: fc.option(fc.stringMatching(/^[A-Za-z0-9:@ _.-]{1,10}$/)),
  count: fc.integer({ min: 1, max: 50 }),
  reason: fc.option(fc.constantFrom("SHUTDOWN", "INACTIVE", "Not in the license file.")),
});

test("parses printed events in pieces of any size", () => {
  fc.assert(
    fc.property(fc.array(seat, { maxLength: 20 }), fc.integer({ min: 1, max: 200 }), (seats, chunk) => {
      const text = seats
        .map(({ kind, feature, user, host, data, count, reason }, index) => {
          const time = `12:00:${String(index + 1).padStart(2, "0")}`;
          const more = [data && `[${data}]`, count > 1 && `(${count} licenses)`, reason && `(${reason})`];
          return `${time} (acmed) ${kind}: "${feature}" ${user}@${host}  ${more.filter(Boolean).join(" ")}`;
        })
        .join("\n");
      const { events, reader } = readLog(HEAD + text, { chunk });
      const at = (index: number) => Date.UTC(2026, 0, 30, 12, 0, index + 1);
      const made = seats.map((each, index) => ({ ...nobody, ...each, daemon: "acmed", at: at(index) }));
      expect(events).toEqual(made as typeof events);
      expect(reader.counts.malformed + reader.counts.withoutHead).toBe(0);
    }),
    { numRuns: 200 },
  );
});

test("never throws and counts every line", () => {
  const heads = ["", "1:02:03 (d) ", "1:02:03 (d) OUT: ", '1:02:03 (d) DENIED: "f" a@h ('];
  const line = fc
    .tuple(fc.constantFrom(...heads), fc.string({ maxLength: 60 }))
    .map((parts) => parts.join(""));
  fc.assert(
    fc.property(fc.array(line, { maxLength: 20 }), (lines) => {
      const text = lines.map((each) => each.replaceAll(/[\r\n]/g, " ")).join("\n");
      const { reader, events } = readLog(text);
      const { counts } = reader;
      expect(counts.lines).toBeLessThanOrEqual(lines.length);
      const told = Object.values(counts.events).reduce((sum, count) => sum + count, 0);
      expect(events.filter(({ kind }) => !kind.startsWith("DAEMON")).length).toBe(told);
    }),
    { numRuns: 300 },
  );
});
