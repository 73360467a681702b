import { describe, expect, test } from "bun:test";
import { offsetAt } from "../../src/domain/time/zone.ts";
import type { DebugLogEvent } from "../../src/managers/debug-log/debug-log.ts";
import { createDebugLogReader } from "../../src/managers/flexnet/debug-log/reader.ts";
import { createSimulatedLog } from "../../src/simulator/debug-log.ts";
import { SERVERS } from "../../src/simulator/servers.ts";
import { createSite } from "../../src/simulator/site.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const LOGGED = SERVERS.filter(({ debugLog }) => debugLog);

/** Reads the log with the real reader. */
function read(text: string, zone: string, from: number) {
  const events: DebugLogEvent[] = [];
  const local = from + offsetAt(zone, from);
  const start = { day: Math.floor(local / DAY), second: (local % DAY) / 1000, daemons: [] };
  const reader = createDebugLogReader({ zone, hold: true, start, onEvent: (event) => events.push(event) });
  for (const line of text.split("\n")) reader.line(line);
  reader.flush();
  return { events, counts: reader.counts };
}

describe("the simulated debug log", () => {
  // Clocks are set back in the second case, and a year ends in the third case.
  test.each([
    ["UTC", "2026-11-16T00:00:00Z"],
    ["Europe/Berlin", "2026-10-23T00:00:00Z"],
    ["America/New_York", "2026-12-28T00:00:00Z"],
  ])("in %s: every line is parsed and agrees with the readings", (zone, start) => {
    const site = createSite({ seed: 5, zone });
    const from = Date.parse(start);
    const to = from + 5 * DAY;
    let requests = 0;
    for (const server of LOGGED) {
      const text = createSimulatedLog(site, server)(from, to);
      const { events, counts } = read(text, zone, from);
      expect(counts).toMatchObject({ malformed: 0, withoutHead: 0, brokenTimes: 0, dateJumps: 0 });
      for (const { at } of events) {
        expect(at).toBeGreaterThanOrEqual(from);
        expect(at).toBeLessThan(to);
      }
      // Seats at the end equal seats at the start plus checkouts minus check-ins.
      const before = site.reading(server, from);
      const after = site.reading(server, to);
      for (const { daemon, name } of server.features) {
        const held = ({ features }: typeof before) =>
          features
            .filter((one) => one.daemon === daemon && one.name === name)
            .flatMap(({ checkouts }) => checkouts)
            .reduce((sum, { count }) => sum + count, 0);
        const moved = events.reduce((sum, event) => {
          if (!("feature" in event) || event.feature !== name || event.daemon !== daemon) return sum;
          if (event.kind === "OUT") return sum + event.count;
          return event.kind === "IN" ? sum - event.count : sum;
        }, 0);
        expect([server.id, name, held(before) + moved]).toEqual([server.id, name, held(after)]);
      }
      requests += events.filter(({ kind }) => kind === "DENIED" || kind === "QUEUED").length;
    }
    expect(requests).toBeGreaterThan(50);
  });

  test("adjacent pieces make the whole log", () => {
    const site = createSite({ seed: 5, zone: "UTC" });
    const [eda] = LOGGED;
    if (eda === undefined) throw new Error("no server has a log");
    const from = Date.parse("2026-11-20T00:00:00Z");
    const to = from + 6 * DAY;
    const log = createSimulatedLog(site, eda);
    const whole = log(from, to);
    let pieces = "";
    for (let at = from; at < to; at += 7 * HOUR) pieces += log(at, Math.min(at + 7 * HOUR, to));
    expect(pieces).toBe(whole);
    // Denials also occur outside working hours.
    expect(whole.split("\n").filter((line) => line.includes(" DENIED: ")).length).toBeGreaterThan(6 * 24);
  });
});
