import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { createPairing, type PairedSession } from "../../../../src/managers/debug-log/debug-log.ts";
import { readLog } from "../../read-log.ts";

const T = Date.UTC(2026, 0, 30);

function pair(lines: string) {
  const sessions: PairedSession[] = [];
  const pairing = createPairing((session) => sessions.push(session));
  const text = lines
    .trim()
    .split("\n")
    .map((line) => line.trim().replace(/^(\S+) /, "$1 (acmed) "))
    .join("\n");
  const { events, reader } = readLog(`0:00:00 (acmed) TIMESTAMP 1/30/2026\n${text}\n`);
  for (const event of events) pairing.take(event);
  pairing.gap(reader.lastAt ?? 0);
  const minute = (at: number) => (at - T) / 60_000;
  return {
    counts: pairing.counts,
    sessions: sessions.map(({ user, count, startedAt, endedAt, endReason }) =>
      [user, count, minute(startedAt), minute(endedAt), endReason].join(" "),
    ),
  };
}

describe("OUT and IN", () => {
  test.each<[string, string, string[], object]>([
    ["pair up", '0:01:00 OUT: "f" a@h  \n0:05:00 IN: "f" a@h  ', ["a 1 1 5 checkin"], {}],
    [
      "the oldest first",
      '0:01:00 OUT: "f" a@h  \n0:02:00 OUT: "f" a@h  \n0:03:00 IN: "f" a@h  \n0:04:00 IN: "f" A@h  \n0:05:00 IN: "f" a@H  ',
      ["a 1 1 3 checkin", "a 1 2 5 checkin"],
      { ambiguous: 1, orphanIns: 1 },
    ],
    [
      "by checkout data",
      '0:01:00 OUT: "f" a@h  [x]\n0:02:00 OUT: "f" a@h  [y]\n0:03:00 IN: "f" a@h  [y]\n0:04:00 IN: "f" a@h  [x]',
      ["a 1 2 3 checkin", "a 1 1 4 checkin"],
      { ambiguous: 0 },
    ],
    [
      "by handle",
      '0:01:00 OUT: "f" a@h  ^^^ 1 a 1.1.1.1 9 aa 1 2 p 11 19 d t 0 ^^^\n0:02:00 OUT: "f" a@h  ^^^ 1 a 1.1.1.1 9 bb 1 2 p 11 19 d t 0 ^^^\n0:03:00 IN: "f" a@h  ^^^ 1 a 1.1.1.1 9 bb 1 2 p 11 19 d t 0 ^^^',
      ["a 1 2 3 checkin", "a 1 1 3 unobserved"],
      { ambiguous: 0, openOuts: 1 },
    ],
    [
      "several licenses come back in one, and in parts",
      '0:01:00 OUT: "f" a@h  (2 licenses)\n0:02:00 OUT: "f" a@h  (3 licenses)\n0:03:00 IN: "f" a@h  (5 licenses)\n0:04:00 OUT: "f" a@h  (4 licenses)\n0:05:00 IN: "f" a@h  \n0:06:00 IN: "f" a@h  (3 licenses)',
      ["a 2 1 3 checkin", "a 3 2 3 checkin", "a 1 4 5 checkin", "a 3 4 6 checkin"],
      { orphanIns: 0 },
    ],
    [
      "back at a shutdown",
      '0:01:00 OUT: "f" a@h  \n0:02:00 IN: "f" a@h  (SHUTDOWN)',
      ["a 1 1 2 server_restart"],
      {},
    ],
    [
      "a daemon that ends takes its seats with it",
      '0:01:00 OUT: "f" a@h  \n0:02:00 EXITING DUE TO SIGNAL 15\n0:03:00 IN: "f" a@h  ',
      ["a 1 1 2 server_restart"],
      { orphanIns: 1 },
    ],
    [
      "check-ins that a daemon prints behind its exit belong to the seats that the exit ended",
      '0:01:00 OUT: "f" a@h  (2 licenses)\n0:01:00 OUT: "f" b@h  \n0:02:00 EXITING DUE TO SIGNAL 15\n0:02:00 IN: "f" a@h  (SHUTDOWN)\n0:02:00 IN: "f" a@h  (SHUTDOWN)\n0:02:01 IN: "f" b@h  (SHUTDOWN)',
      ["a 2 1 2 server_restart", "b 1 1 2 server_restart"],
      { orphanIns: 0, openOuts: 0 },
    ],
    [
      "… and each only once, and of nobody else",
      '0:01:00 OUT: "f" a@h  \n0:02:00 EXITING DUE TO SIGNAL 15\n0:02:00 IN: "f" a@h  (SHUTDOWN)\n0:02:00 IN: "f" a@h  (SHUTDOWN)\n0:02:00 IN: "f" b@h  (SHUTDOWN)',
      ["a 1 1 2 server_restart"],
      { orphanIns: 2 },
    ],
    [
      "an end that nobody saw",
      '0:01:00 OUT: "f" a@h  \n0:09:00 OUT: "g" b@h  ',
      ["a 1 1 9 unobserved", "b 1 9 9 unobserved"],
      { openOuts: 2 },
    ],
  ])("%s", (_name, lines, expected, counts) => {
    const paired = pair(lines);
    expect(paired.sessions).toEqual(expected);
    expect(paired.counts).toMatchObject(counts);
  });

  test("pairing keeps the number of seats", () => {
    const count = fc.integer({ min: 1, max: 4 });
    const seat = fc.record({ out: fc.boolean(), user: fc.constantFrom("a", "b"), count });
    fc.assert(
      fc.property(fc.array(seat, { maxLength: 40 }), (seats) => {
        const lines = seats.map(
          ({ out, user, count }, index) =>
            `0:${String(index + 1).padStart(2, "0")}:00 ${out ? "OUT" : "IN"}: "f" ${user}@h  (${count} licenses)`,
        );
        const { sessions } = pair(lines.join("\n") || '0:01:00 x "f"');
        const held = seats.reduce((sum, { out, count }) => sum + (out ? count : 0), 0);
        const told = sessions.reduce((sum, line) => sum + Number(line.split(" ")[1]), 0);
        expect(told).toBe(held);
      }),
      { numRuns: 200 },
    );
  });
});
