import { afterEach, beforeEach, expect, test } from "bun:test";
import { type CommandPlace, createCommandFollower } from "../../../src/collector/log-tail/follow-command.ts";
import type { Follower } from "../../../src/collector/log-tail/follow-file.ts";
import {
  type CommandRequest,
  type CommandResult,
  createCommandRunner,
} from "../../../src/collector/run-command.ts";
import { until } from "../../until.ts";
import { createVirtualTime, type VirtualTime } from "../virtual-time.ts";

const ARGV = ["ssh", "lic1", "tail", "-F", "/var/log/acmed.log"];
let time: VirtualTime;
let follower: Follower<CommandPlace>;
let process: CommandRequest & { readonly end: (code: number) => void };
let starts = 0;

beforeEach(() => {
  time = createVirtualTime();
  starts = 0;
});
afterEach(() => follower.close());

function begin(from: CommandPlace | null = null): void {
  const run = (request: CommandRequest) => {
    starts++;
    const { promise, resolve } = Promise.withResolvers<CommandResult>();
    const end = (exitCode: number) => {
      const result = { started: true, argv: ARGV, exitCode, signal: null, durationMs: 1 } as const;
      const none = { stdout: new Uint8Array(0), stderr: new Uint8Array(0), truncated: false };
      const flags = { stderrTruncated: false, timedOut: false, aborted: false, abandoned: false };
      resolve({ ...result, ...none, ...flags });
    };
    process = { ...request, end };
    request.signal?.addEventListener("abort", () => end(0));
    return promise;
  };
  follower = createCommandFollower(ARGV, from, { run, ...time });
}

const print = (text: string) => process.onStdout?.(Buffer.from(text));

/** Reads all text and markers. */
async function read(): Promise<string> {
  let text = "";
  for (;;) {
    const piece = await follower.next(1e6, time.clock.now()).catch((error: Error) => error.message);
    if (piece === null) return `${text}…`;
    if (typeof piece === "string") return `${text}! ${piece}`;
    text += (piece.lost ? "LOST " : "") + (piece.resumed ? "RESUMED " : "") + Buffer.from(piece.bytes);
    if (piece.atEnd) return text;
  }
}

/** Starts a command whose old lines and first three new lines have been read. */
async function begun(): Promise<void> {
  begin();
  print("1 old\n2 old\n");
  await time.pass(1_000);
  await read();
  print("3 a\n4 a\n4 a\n");
  expect(await read()).toBe("3 a\n4 a\n4 a\n");
}

async function restarted(): Promise<void> {
  process.end(255);
  await time.pass(2_000);
}

test("skips old lines at the first start, then returns complete lines", async () => {
  begin();
  expect(await read()).toBe("…");
  print("1 old\n2 o");
  print("ld\n");
  expect(await read()).toBe("…");
  await time.pass(1_000);
  expect(await read()).toBe("");
  print("3 new\n4 ne");
  expect(await read()).toBe("3 new\n");
  print("w\n");
  expect(await read()).toBe("4 new\n");
  expect([starts, process.timeoutMs, process.env]).toEqual([1, null, {}]);
});

test("a log that never pauses is live after half a minute, and so is a late first line", async () => {
  begin();
  for (let second = 0; second < 61; second++) {
    print(`${second} x\n`);
    await time.pass(500);
  }
  expect(await read()).toBe("60 x\n");
  follower.close();
  begin();
  await time.pass(30_000);
  expect(await read()).toBe("…");
  print("1 first\n");
  expect(await read()).toBe("1 first\n");
});

/**
 * The output of the next start, the text that is then read, and the text that is read after one more line.
 */
test.each([
  ["2 old\n3 a\n4 a\n4 a\n5 b\n", "RESUMED 5 b\n", "6\n"],
  ["4 a\n4 a\n5 b\n", "RESUMED 5 b\n", "6\n"],
  ["4 a\n", "RESUMED ", "6\n"],
  ["0 older\n1 old\n2 old\n3 a\n4 a\n4 a\n", "RESUMED ", "6\n"],
  ["8 b\n9 b\n", "LOST ", "6\n"],
  ["4 a\n9 b\n4 a\n", "RESUMED 9 b\n4 a\n", "6\n"],
  ["3 x\n4 a\n4 a\n", "LOST ", "6\n"],
])("a start that prints %j continues with %j", async (printed, expected, then) => {
  for (const isOtherProcess of [false, true]) {
    await begun();
    if (isOtherProcess) {
      follower.close();
      begin(JSON.parse(JSON.stringify(follower.place)));
    } else await restarted();
    print(printed);
    await time.pass(1_000);
    expect(await read()).toBe(expected);
    print("6\n");
    expect(await read()).toBe(then);
    follower.close();
  }
});

test("an exit is a problem with the last line of stderr until lines repeat; restarts back off", async () => {
  await begun();
  const seen = time.clock.now();
  await time.pass(500);
  process.onStderr?.(Buffer.from("Warning: added lic1\nssh: connect to \u001b[1mlic1: refused\n"));
  process.end(255);
  await time.pass(0);
  const words = String.raw`! log_command (ssh) exited with code 255: ssh: connect to \u001b[1mlic1: refused. It will be restarted.`;
  expect(await read()).toBe(words);
  expect(follower.seenAt()).toBe(seen);
  for (const wait of [2, 4, 8, 16, 32, 60, 60]) {
    const before = starts;
    await time.pass(wait * 1_000 - 1);
    expect(starts).toBe(before);
    await time.pass(1);
    expect(starts).toBe(before + 1);
    expect(await read()).toStartWith("! log_command (ssh) exited");
    if (wait < 60 || starts < 8) process.end(255);
    await time.pass(0);
  }
  print("4 a\n5 b\n");
  expect(await read()).toBe("RESUMED 5 b\n");
  await time.pass(60_000);
  process.end(0);
  await time.pass(1_000);
  expect(starts).toBe(9);
});

test("a real process blocks while nothing is read, loses nothing, and ends with its follower", async () => {
  const runner = createCommandRunner({ path: globalThis.process.env.PATH ?? "", home: "/" });
  const script = "echo old; sleep 2; seq -f 'line %.0f' 2000000; sleep 99";
  const system = { clock: { now: Date.now }, timers: { after: () => () => {} } };
  follower = createCommandFollower(["sh", "-c", script], null, { run: runner.run, ...system });
  const next = () => follower.next(1e6, Date.now());
  await until("it is live", async () => (await next()) ?? undefined);
  const rss = globalThis.process.memoryUsage.rss();
  await Bun.sleep(3_000);
  expect(globalThis.process.memoryUsage.rss() - rss).toBeLessThan(16e6);
  let bytes = 0;
  await until("all is read", async () => {
    for (let piece = await next(); piece !== null && piece.bytes.length > 0; piece = await next())
      bytes += piece.bytes.length;
    return bytes >= 24888896 || undefined;
  });
  expect(bytes).toBe(24888896);
  follower.close();
  await runner.stop();
  expect(starts).toBe(0);
});
