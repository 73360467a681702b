import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { LogEvent } from "../../src/domain/events.ts";
import { argumentsOf, keyOf, runOf } from "../../src/page/admin/forms.ts";
import { EMPTY, fieldsOf, levelsFrom, MOST_LINES, sourcesFor, withLines } from "../../src/page/admin/tail.ts";

const line = (n: number): LogEvent => ({
  type: "log",
  id: `log-${n}`,
  timestamp: "2026-11-23T10:00:00Z",
  level: "info",
  message: "m",
  source: "system",
  metadata: {},
});
const linesOf = (from: number, count: number) => Array.from({ length: count }, (_, at) => line(from + at));

describe("the end of the log", () => {
  test("is each line once, in order, the newest of all; what is shown stays while it is paused", () => {
    const step = fc.record({ fresh: fc.nat(MOST_LINES), again: fc.nat(3), isPaused: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 6 }), (steps) => {
        let [tail, said] = [EMPTY, 0];
        for (const { fresh, again, isPaused } of steps) {
          const from = Math.max(0, said - again);
          const next = withLines(tail, linesOf(from, said - from + fresh), isPaused);
          if (isPaused) expect(next.lines).toBe(tail.lines);
          said += fresh;
          tail = next;
        }
        const { lines, waiting, isCut } = withLines(tail, [], false);
        const kept = Math.min(said, MOST_LINES);
        expect(lines.map(({ id }) => id)).toEqual(linesOf(said - kept, kept).map(({ id }) => id));
        expect([waiting, isCut]).toEqual([[], said > MOST_LINES]);
      }),
      { numRuns: 50 },
    );
  });

  test("has fields, levels and sources as they are asked for", () => {
    const metadata = { server: "eda", error: 'a "b"\n', n: 1, none: null, argv: ["x"] };
    expect(fieldsOf({ metadata })).toBe('server=eda error="a \\"b\\"\\n" n=1 argv=["x"]');
    expect(levelsFrom("warn")).toEqual(["warn", "error"]);
    expect(sourcesFor(false)).not.toContain("audit");
    expect(sourcesFor(true)).toContain("audit");
  });
});

describe("the body of", () => {
  test.each<[Record<string, string>, object]>([
    [
      { name: " wall ", role: "viewer", expires: "" },
      { name: "wall", role: "viewer" },
    ],
    [
      { name: "x", role: "viewer", pseudonyms: "on" },
      { name: "x", role: "viewer", anonymize: true },
    ],
    [
      { name: "x", role: "admin", pseudonyms: "on", expires: "2027-01-31" },
      { name: "x", role: "admin", expiresAt: new Date("2027-01-31T23:59:59").toISOString() },
    ],
  ])("a key: %#", (fields, body) => {
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    expect(keyOf(form)).toEqual(body as ReturnType<typeof keyOf>);
  });

  const properties = { feature: { maxLength: 256 }, user: {}, host: {}, handle: {} };
  const ways = [{ required: ["handle"] }, { required: ["feature", "user", "host"] }];
  const remove = { command: "remove", needsServer: true, args: { properties, anyOf: ways } };
  const site = { command: "site", needsServer: false, args: { properties: {}, required: [] } };
  test.each<[typeof remove | typeof site, Record<string, string>, object | null]>([
    [remove, {}, null],
    [remove, { server: "eda" }, null],
    [remove, { handle: "1" }, null],
    [remove, { server: "eda", handle: "1" }, { command: "remove", server: "eda", args: { handle: "1" } }],
    [remove, { server: "eda", feature: "f", user: "u" }, null],
    [
      remove,
      { server: "eda", feature: "f", user: "u", host: "h", other: "x" },
      { command: "remove", server: "eda", args: { feature: "f", user: "u", host: "h" } },
    ],
    [site, { server: "eda" }, { command: "site" }],
  ])("a command: %#", (command, fields, body) => expect(runOf(command, fields)).toEqual(body as never));

  test("a command's arguments, as its schema has them", () => {
    expect(argumentsOf(remove)).toMatchObject({
      properties: { feature: { maxLength: 256 } },
      ways: [["handle"], ["feature", "user", "host"]],
    });
  });
});
