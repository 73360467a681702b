import { describe, expect, test } from "bun:test";
import { chooseLogFormat, createLogging, formatLine, type LogLine } from "../../src/system/log.ts";

const clock = { now: () => Date.UTC(2026, 0, 31, 8, 15, 30, 123) };

function rig(level: "debug" | "info" | "warn" | "error" = "info") {
  const lines: LogLine[] = [];
  const logging = createLogging(level, clock, [(line) => void lines.push(line)]);
  return { lines, logging };
}

test("drops lines below the level, except audit lines", () => {
  const { lines, logging } = rig("warn");
  const log = logging.logOf("collector");
  log.debug("a");
  log.info("b");
  log.warn("c");
  log.error("d");
  logging.setLevel("error");
  log.warn("e");
  logging.logOf("audit").info("API key created");
  logging.setLevel("debug");
  log.debug("f");
  expect(lines.map(({ message }) => message)).toEqual(["c", "d", "API key created", "f"]);
  expect(lines.map(({ level }) => level)).toEqual(["warn", "error", "info", "debug"]);
});

test("a line has time, source and fields, without undefined ones", () => {
  const { lines, logging } = rig();
  logging.logOf("store").info("Stored", { server: "eda", rows: 3, error: null, more: undefined });
  const fields = { server: "eda", rows: 3, error: null };
  expect(lines).toEqual([{ at: clock.now(), level: "info", source: "store", message: "Stored", fields }]);
});

test("secrets reach no sink", () => {
  const { lines, logging } = rig();
  const secret = "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789abcdefg";
  const log = logging.logOf("http");
  log.info(`key lmk_abcdefghijkl_${secret}`, {
    url: `/stream/logs?api_key=${secret}&level=info`,
    header: `Bearer ${secret}`,
    target: `https://me:${secret}@hooks.example/x`,
    key: `lmk_abcdefghijkl_${secret}`,
  });
  expect(JSON.stringify(lines)).not.toContain(secret);
  expect(lines[0]?.fields.url).toBe("/stream/logs?api_key=***&level=info");
});

test("sinks can be added and removed; a failing sink is reported once to the others", () => {
  const { lines, logging } = rig();
  const remove = logging.addSink(() => {
    throw new Error("disk full");
  });
  const log = logging.logOf("system");
  log.info("one");
  log.info("two");
  expect(lines.map(({ message }) => message)).toEqual(["one", "Log sink failed", "two"]);
  expect(lines[1]).toMatchObject({ level: "error", fields: { error: "Error: disk full" } });
  remove();
  log.info("three");
  expect(lines).toHaveLength(4);
});

describe("formats", () => {
  const line: LogLine = {
    at: clock.now(),
    level: "warn",
    source: "collector",
    message: "Poll\nfailed",
    fields: { server: "eda", error: 'No "x" \u001b[2J', count: 2, more: null, empty: "" },
  };

  test("text", () => {
    expect(formatLine(line, "text", false)).toBe(
      '2026-01-31T08:15:30.123Z WARN  collector Poll\\nfailed server=eda error="No \\"x\\" \\u001b[2J" count=2 more=null empty=""',
    );
  });

  test("colored text has the same words", () => {
    const coloured = formatLine(line, "text", true);
    expect(coloured).toContain("\u001b[33mWARN ");
    expect(Bun.stripANSI(coloured)).toBe(formatLine(line, "text", false));
  });

  test("journal: priority first, no time", () => {
    expect(formatLine(line, "journal", false)).toStartWith("<4>collector: Poll\\nfailed server=eda ");
    const priorities = (["error", "warn", "info", "debug"] as const).map((level) =>
      formatLine({ ...line, level }, "journal", false).slice(0, 3),
    );
    expect(priorities).toEqual(["<3>", "<4>", "<6>", "<7>"]);
  });

  test("json is one object in one line", () => {
    const text = formatLine(line, "json", false);
    expect(text).not.toContain("\n");
    expect(JSON.parse(text)).toEqual({
      timestamp: "2026-01-31T08:15:30.123Z",
      level: "warn",
      source: "collector",
      message: "Poll\nfailed",
      metadata: line.fields,
    });
  });

  test.each([
    ["auto", true, undefined, "8:1", "text"],
    ["auto", false, undefined, "8:1", "text"],
    ["auto", false, "8:1", "8:1", "journal"],
    ["auto", false, "8:1", "8:2", "text"],
    ["auto", false, "8:1", null, "text"],
    ["text", false, "8:1", "8:1", "text"],
    ["json", true, undefined, "8:1", "json"],
  ] as const)(
    "%s, terminal %p, journal %p, stderr %p: %s",
    (wanted, isTerminal, journalStream, stderrStream, format) => {
      expect(chooseLogFormat(wanted, isTerminal, journalStream, stderrStream)).toBe(format);
    },
  );
});
