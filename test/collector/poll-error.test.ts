import { describe, expect, test } from "bun:test";
import { isUsable, mayBeCut, pollErrorOf } from "../../src/collector/poll-error.ts";
import type { CommandRun } from "../../src/collector/run-command.ts";
import type { Reading } from "../../src/domain/reading.ts";
import { daemon, feature } from "../domain/make.ts";
import { member, reading, toolError } from "./sample-poll.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

const run = (more: Partial<CommandRun> = {}): CommandRun => ({
  started: true,
  argv: ["/opt/flexnet/lmutil", "lmstat"],
  exitCode: 0,
  signal: null,
  stdout: bytes("the tool's words\n"),
  stderr: bytes(""),
  truncated: false,
  stderrTruncated: false,
  timedOut: false,
  aborted: false,
  abandoned: false,
  durationMs: 10,
  ...more,
});

const judge = (result: CommandRun, read: Reading) =>
  pollErrorOf({ result, reading: read, address: "27000@lic1", timeoutMs: 30_000 });

const refused = toolError(
  "unreachable",
  'Cannot connect to license server system. (-15,570:111 "refused")',
  -15,
  570,
);
const unreadable = toolError("query", "Cannot read data from license server system. (-16,287)", -16, 287);
const unknown = reading({ recognised: false });
const up = reading({ members: [member("up")] });
const daemonUp = reading({
  daemons: [{ name: "snpslmd", status: "up", version: null, error: null, totals: null }],
});

const unread = daemon({ name: "snps", status: "unknown", error: unreadable });
const failed = feature({ error: toolError("query", "Cannot get users of compiler. (-16,287)", -16, 287) });

describe("usable is what has a feature or anybody up", () => {
  for (const [name, read, usable] of [
    ["a member up", up, true],
    [
      "a member up beside one that cannot be reached",
      reading({ members: [member("up"), member("down", { error: refused })] }),
      true,
    ],
    ["a daemon up, no server line", daemonUp, true],
    [
      "a member up and an error of the whole query",
      reading({ members: [member("up")], errors: [unreadable] }),
      true,
    ],
    [
      "a member up beside a daemon that answers with an error",
      reading({ members: [member("up")], daemons: [unread] }),
      false,
    ],
    [
      "the same with a feature that was read",
      reading({ members: [member("up")], daemons: [unread], features: [feature()] }),
      true,
    ],
    [
      "the same with features that failed alone",
      reading({ members: [member("up")], daemons: [unread], features: [failed] }),
      false,
    ],
    [
      "features that failed behind a daemon that is down",
      reading({ members: [member("up")], daemons: [{ ...unread, status: "down" }], features: [failed] }),
      true,
    ],
    ["all members down", reading({ members: [member("down"), member("down")] }), false],
    ["a banner", reading(), false],
    ["nothing known", unknown, false],
  ] as const) {
    test(name, () => {
      expect(isUsable(read)).toBe(usable);
      expect(judge(run(), read) === null).toBe(usable);
    });
  }
});

describe("the parse decides: a usable reading is no error, however the tool ended", () => {
  for (const end of [
    { exitCode: 241 },
    { exitCode: null, signal: "SIGSEGV" },
    { exitCode: null, signal: "SIGKILL", timedOut: true },
  ]) {
    test(JSON.stringify(end), () => expect(judge(run(end), up)).toBeNull());
  }

  test("but all of these may lack the end of the text, and a bad exit code alone does not", () => {
    expect(mayBeCut(run({ exitCode: 241 }))).toBe(false);
    for (const end of [{ signal: "SIGSEGV" }, { timedOut: true }, { abandoned: true }]) {
      expect(mayBeCut(run(end))).toBe(true);
    }
  });
});

describe("what a failure is called", () => {
  for (const [name, result, read, code, words, details] of [
    [
      "timed out in silence",
      run({ timedOut: true, stdout: bytes("") }),
      unknown,
      "TIMEOUT",
      "within 30 s",
      null,
    ],
    [
      "printed more than the cap, and was killed for that",
      run({ truncated: true, exitCode: null, signal: "SIGKILL" }),
      unknown,
      "LICENSE_QUERY_FAILED",
      "lmutil printed more than 16 MiB, and licmond ended it for that.",
      "the tool's words",
    ],
    [
      "timed out after a dead member",
      run({ timedOut: true }),
      reading({ members: [member("down", { error: refused })] }),
      "TIMEOUT",
      "killed",
      "the tool's words",
    ],
    [
      "cannot connect",
      run({ exitCode: 241 }),
      reading({ errors: [refused] }),
      "LICENSE_SERVER_UNREACHABLE",
      "27000@lic1",
      refused.message,
    ],
    [
      "no member of a triad answers",
      run(),
      reading({ members: [member("down", { error: refused }), member("down")] }),
      "LICENSE_SERVER_UNREACHABLE",
      "No license server answers",
      refused.message,
    ],
    [
      "members down without a word",
      run(),
      reading({ members: [member("down")] }),
      "LICENSE_SERVER_UNREACHABLE",
      "No license",
      "the tool's words",
    ],
    [
      "the server answers with an error",
      run(),
      reading({ errors: [refused, toolError("query", "License file does not support. (-25,1)", -25, 1)] }),
      "LICENSE_QUERY_FAILED",
      "answered with an error",
      `${refused.message}\nLicense file does not support. (-25,1)`,
    ],
    [
      "nothing could be read",
      run({ exitCode: 240 }),
      reading({ errors: [unreadable] }),
      "LICENSE_QUERY_FAILED",
      "no data could be read from it (-16,287)",
      unreadable.message,
    ],
    [
      "nothing could be read, said by a member",
      run(),
      reading({ members: [member("down", { error: unreadable })] }),
      "LICENSE_QUERY_FAILED",
      "firewall rejects the connection; it is no lmgrd but FlexNet Embedded",
      unreadable.message,
    ],
    [
      "bad exit code, nothing known",
      run({ exitCode: 1 }),
      unknown,
      "LICENSE_QUERY_FAILED",
      "exit code 1",
      "the tool's words",
    ],
    [
      "a library is missing",
      run({
        exitCode: 127,
        stdout: bytes(""),
        stderr: bytes("lmutil: error while loading shared libraries: libX.so.1: cannot open"),
      }),
      unknown,
      "LICENSE_QUERY_FAILED",
      "its library libX.so.1 is missing",
      "lmutil: error while loading shared libraries: libX.so.1: cannot open",
    ],
    [
      "died",
      run({ exitCode: null, signal: "SIGSEGV" }),
      unknown,
      "LICENSE_QUERY_FAILED",
      "SIGSEGV",
      "the tool's words",
    ],
    [
      "died after its banner",
      run({ exitCode: null, signal: "SIGABRT" }),
      reading(),
      "LICENSE_QUERY_FAILED",
      "SIGABRT",
      "the tool's words",
    ],
    [
      "called off",
      run({ aborted: true, exitCode: null, signal: "SIGTERM" }),
      unknown,
      "LICENSE_QUERY_FAILED",
      "called off",
      "the tool's words",
    ],
    [
      "cannot be killed",
      run({ abandoned: true, exitCode: null }),
      unknown,
      "LICENSE_QUERY_FAILED",
      "cannot be killed",
      "the tool's words",
    ],
    ["other words", run(), unknown, "LICENSE_PARSE_ERROR", "no part that licmond knows", "the tool's words"],
    ["only a banner", run(), reading(), "LICENSE_PARSE_ERROR", "no part", "the tool's words"],
    ["nothing", run({ stdout: bytes("\n") }), unknown, "LICENSE_PARSE_ERROR", "said nothing", null],
  ] as const) {
    test(`${name}: ${code}`, () => {
      const error = judge(result, read);
      expect(error).toMatchObject({ code, details });
      expect(error?.message).toContain(words);
    });
  }

  test("a daemon that answers with an error gives the tool's own words", () => {
    const error = judge(run(), reading({ members: [member("up")], daemons: [unread], features: [failed] }));
    expect(error).toEqual({
      code: "LICENSE_QUERY_FAILED",
      message: "No daemon could be read. snps: Cannot read data from license server system. (-16,287)",
      details: "Cannot read data from license server system. (-16,287)",
    });
  });

  test("a tool that did not start is LICENSE_QUERY_FAILED with the reason and the fix", () => {
    const failure = {
      reason: "missing_loader",
      path: "/opt/lmutil",
      message: "Its loader is gone.",
      fix: "`ln -s a b`",
    } as const;
    const result = { started: false, argv: ["/opt/lmutil"], failure } as const;
    expect(pollErrorOf({ result, reading: null, address: "1@x", timeoutMs: 1 })).toEqual({
      code: "LICENSE_QUERY_FAILED",
      // The message is for all who may read, and names no path of the host.
      message:
        "The tool could not be started: its loader is missing. `licmond check` says which file is meant, and the fix.",
      details: "Its loader is gone. Fix: `ln -s a b`.",
    });
  });
});
