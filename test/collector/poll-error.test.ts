import { describe, expect, test } from "bun:test";
import { isUsable, MAX_DETAILS, mayBeCut, pollErrorOf, quoteOutput } from "../../src/collector/poll-error.ts";
import type { CommandRun } from "../../src/collector/run-command.ts";
import type { PollErrorCode } from "../../src/domain/errors.ts";
import type { Reading } from "../../src/domain/reading.ts";
import { managerOf } from "../../src/managers/registry.ts";
import { daemon, feature, member, reading, toolError } from "../domain/make.ts";

const { explain } = managerOf("flexnet");
const bytes = (text: string) => new TextEncoder().encode(text);

const run = (more: Partial<CommandRun> = {}): CommandRun => ({
  started: true,
  argv: ["/opt/flexnet/lmutil", "lmstat"],
  exitCode: 0,
  signal: null,
  stdout: bytes("its words\n"),
  stderr: bytes(""),
  truncated: false,
  stderrTruncated: false,
  timedOut: false,
  aborted: false,
  abandoned: false,
  durationMs: 10,
  ...more,
});

const errorOf = (result: CommandRun, read: Reading) =>
  pollErrorOf({ result, reading: read, address: "27000@lic1", timeoutMs: 30_000, explain });

const bare = (more: Partial<Reading> = {}) => reading({ members: [], daemons: [], features: [], ...more });
const refused = toolError({
  message: 'Cannot connect to license server system. (-15,570:111 "refused")',
  major: -15,
  minor: 570,
  kind: "unreachable",
});
const unreadable = toolError({
  message: "Cannot read data from license server system. (-16,287)",
  major: -16,
  minor: 287,
});
const unknown = bare({ recognised: false });
const up = bare({ members: [member()] });
const down = member({ status: "down" });
const unread = daemon({ name: "snps", status: "unknown", error: unreadable });
const failed = feature({ error: unreadable });

test.each<[string, Reading, boolean]>([
  ["a member up", up, true],
  ["a member up beside one that cannot be reached", bare({ members: [member(), down] }), true],
  ["a daemon up, no server line", bare({ daemons: [daemon()] }), true],
  ["a member up and an error of the whole query", bare({ members: [member()], errors: [unreadable] }), true],
  ["a member up, a daemon that answers with an error", bare({ ...up, daemons: [unread] }), false],
  ["the same with a feature that was read", bare({ ...up, daemons: [unread], features: [feature()] }), true],
  ["the same with features that failed", bare({ ...up, daemons: [unread], features: [failed] }), false],
  [
    "features that failed behind a daemon that is down",
    bare({ ...up, daemons: [{ ...unread, status: "down" }], features: [failed] }),
    true,
  ],
  ["all members down", bare({ members: [down, down] }), false],
  ["a banner", bare(), false],
  ["nothing known", unknown, false],
])("isUsable: %s", (_, read, usable) => {
  expect(isUsable(read)).toBe(usable);
  expect(errorOf(run(), read) === null).toBe(usable);
});

test.each<[Partial<CommandRun>, boolean]>([
  [{ exitCode: 241 }, false],
  [{ exitCode: null, signal: "SIGSEGV" }, true],
  [{ exitCode: null, signal: "SIGKILL", timedOut: true }, true],
  [{ abandoned: true }, true],
])("a usable reading is no error but may be cut: %j", (end, cut) => {
  expect(errorOf(run(end), up)).toBeNull();
  expect(mayBeCut(run(end))).toBe(cut);
});

const LIBRARY = "lmutil: error while loading shared libraries: libX.so.1: cannot open";
const wrongFile = toolError({ message: "License file does not support. (-25,1)" });

describe("errors", () => {
  const FAILED = "LICENSE_QUERY_FAILED";
  const UNREACHABLE = "LICENSE_SERVER_UNREACHABLE";
  const TOO_MUCH = "lmutil printed more than 16 MiB and was killed; license lists are far shorter.";
  const EMBEDDED = "firewall blocks the connection; it is a FlexNet Embedded server";
  const triad = bare({ members: [{ ...down, error: refused }, down] });
  const wrong = bare({ errors: [refused, wrongFile] });
  const embedded = bare({ members: [{ ...down, error: unreadable }] });
  const noLibrary = { exitCode: 127, stdout: bytes(""), stderr: bytes(LIBRARY) };

  test.each<[string, Partial<CommandRun>, Reading, PollErrorCode, (string | null)?]>([
    ["within 30 s", { timedOut: true, stdout: bytes("") }, unknown, "TIMEOUT", null],
    ["killed", { timedOut: true }, triad, "TIMEOUT"],
    ["No license server answers", {}, bare({ members: [down] }), UNREACHABLE],
    ["killed by SIGSEGV", { exitCode: null, signal: "SIGSEGV" }, unknown, FAILED],
    ["killed by SIGABRT", { exitCode: null, signal: "SIGABRT" }, bare(), FAILED],
    ["lmutil was cancelled.", { aborted: true, signal: "SIGTERM" }, unknown, FAILED],
    ["cannot be killed", { abandoned: true, exitCode: null }, unknown, FAILED],
    ["exited with code 1", { exitCode: 1 }, unknown, FAILED],
    ["unrecognized output", {}, unknown, "LICENSE_PARSE_ERROR"],
    ["returned unrecognized output", {}, bare(), "LICENSE_PARSE_ERROR"],
    ["code 0 and no output", { stdout: bytes("\n") }, unknown, "LICENSE_PARSE_ERROR", null],
    [TOO_MUCH, { truncated: true, exitCode: null, signal: "SIGKILL" }, unknown, FAILED],
    ["at 27000@lic1", { exitCode: 241 }, bare({ errors: [refused] }), UNREACHABLE, refused.message],
    ["No license server answers", {}, triad, UNREACHABLE, refused.message],
    ["answered with an error", {}, wrong, FAILED, `${refused.message}\n${wrongFile.message}`],
    ["sent no data (-16,287)", { exitCode: 240 }, bare({ errors: [unreadable] }), FAILED, unreadable.message],
    [EMBEDDED, {}, embedded, FAILED, unreadable.message],
    ["its library libX.so.1 is missing", noLibrary, unknown, FAILED, LIBRARY],
  ])("%s", (words, result, read, code, details = "its words") => {
    const error = errorOf(run(result), read);
    expect(error).toMatchObject({ code, details });
    expect(error?.message).toContain(words);
  });

  test("a daemon that answers with an error is quoted", () => {
    expect(errorOf(run(), bare({ ...up, daemons: [unread], features: [failed] }))).toEqual({
      code: "LICENSE_QUERY_FAILED",
      message: `No daemon could be read. snps: ${unreadable.message}`,
      details: unreadable.message,
    });
  });

  test("a tool that did not start is LICENSE_QUERY_FAILED with reason and fix", () => {
    const path = "/opt/lmutil";
    const message = "Its loader is gone.";
    const failure = { reason: "missing_loader", path, message, fix: "`ln -s a b`" } as const;
    const result = { started: false, argv: [path], failure } as const;
    expect(pollErrorOf({ result, reading: null, address: "1@x", timeoutMs: 1, explain })).toEqual({
      code: "LICENSE_QUERY_FAILED",
      // All keys may see the message, so it contains no path of the host.
      message:
        "The tool could not be started: its loader is missing. Run `licmond check` for the file and the fix.",
      details: "Its loader is gone. Fix: `ln -s a b`.",
    });
  });
});

describe("quoted output", () => {
  const quoted = (out: string, err = "") => quoteOutput(bytes(out), bytes(err));

  test("escapes control characters, keeps lines, begins with stderr", () => {
    expect(quoted("  a\tb\r\nc\x1b[31m\x07\u202e\u2028 ")).toBe("a\\tb\nc\\u001b[31m\\u0007\\u202e");
    expect(quoted("a\rb")).toBe("a\\rb");
    expect(quoted(" \r\n\t", " \n")).toBeNull();
    expect(quoted("out\n", "err\n")).toBe("err\nout");
    expect(quoteOutput(Buffer.from("München", "latin1"), bytes(""))).toBe("München");
  });

  test("is cut at 2,000 characters, never inside a character", () => {
    expect(quoted("x".repeat(MAX_DETAILS))).toHaveLength(MAX_DETAILS);
    const cut = quoted(`${"x".repeat(MAX_DETAILS - 2)}😀😀`);
    expect(cut).toHaveLength(MAX_DETAILS);
    expect(cut?.isWellFormed()).toBe(true);
    expect(quoted("\x1b".repeat(5000))).toHaveLength(MAX_DETAILS);
  });
});
