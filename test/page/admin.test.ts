import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { LogEvent } from "../../src/domain/events.ts";
import { argumentsOf, keyOf, runOf } from "../../src/page/admin/forms.ts";
import { EMPTY, fieldsOf, levelsFrom, MOST_LINES, sourcesFor, withLines } from "../../src/page/admin/tail.ts";

const idsOf = (from: number, count: number) => Array.from({ length: count }, (_, at) => `log-${from + at}`);
const line = (id: string): LogEvent => ({
  ...{ type: "log", id, timestamp: "2026-11-23T10:00:00Z" },
  ...{ level: "info", message: "m", source: "system", metadata: {} },
});

describe("the end of the log", () => {
  test("has each of the newest lines once, in order; shown lines stay while it is paused", () => {
    const step = fc.record({ fresh: fc.nat(MOST_LINES), again: fc.nat(3), isPaused: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 6 }), (steps) => {
        let [tail, said] = [EMPTY, 0];
        for (const { fresh, again, isPaused } of steps) {
          const from = Math.max(0, said - again);
          const next = withLines(tail, idsOf(from, said - from + fresh).map(line), isPaused);
          if (isPaused) expect(next.lines).toBe(tail.lines);
          said += fresh;
          tail = next;
        }
        const { lines, waiting, isCut } = withLines(tail, [], false);
        const kept = Math.min(said, MOST_LINES);
        expect(lines.map(({ id }) => id)).toEqual(idsOf(said - kept, kept));
        expect([waiting, isCut]).toEqual([[], said > MOST_LINES]);
      }),
      { numRuns: 50 },
    );
  });

  test("formats fields, and lists levels and sources", () => {
    const metadata = { server: "eda", error: 'a "b"\n', n: 1, none: null, argv: ["x"] };
    expect(fieldsOf({ metadata })).toBe('server=eda error="a \\"b\\"\\n" n=1 argv=["x"]');
    expect(levelsFrom("warn")).toEqual(["warn", "error"]);
    expect(sourcesFor(false)).not.toContain("audit");
    expect(sourcesFor(true)).toContain("audit");
  });
});

describe("the body of", () => {
  type Fields = Record<string, string>;
  test.each<[fields: Fields, wanted: object]>([
    [
      { name: " wall ", expires: "" },
      { role: "viewer", name: "wall" },
    ],
    [{ pseudonyms: "on" }, { role: "viewer", anonymize: true }],
    [{ role: "admin", pseudonyms: "on" }, { role: "admin" }],
    [{ expires: "2027-01-31" }, { role: "viewer", expiresAt: new Date("2027-01-31T23:59:59").toISOString() }],
  ])("a key: %p", (fields, wanted) => {
    const form = new FormData();
    for (const [name, value] of Object.entries({ name: "x", role: "viewer", ...fields }))
      form.set(name, value);
    expect(keyOf(form)).toEqual({ name: "x", ...wanted } as ReturnType<typeof keyOf>);
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

  test("a command with the arguments of its schema", () => {
    expect(argumentsOf(remove)).toMatchObject({
      properties: { feature: { maxLength: 256 } },
      ways: [["handle"], ["feature", "user", "host"]],
    });
  });
});
