import { afterEach, expect, test } from "bun:test";
import { createParseApart } from "../../src/collector/parse-apart.ts";
import { createPoller, type PollerDeps } from "../../src/collector/poll.ts";
import { profileManager } from "../../src/managers/profiles/profile-manager.ts";
import { linesProfile, profileOf } from "../managers/profiles/read.ts";
import { readAs } from "../managers/read-as.ts";
import { server } from "./collector-site.ts";

const FEATURE = String.raw`feature = '^(?<name>\w+) (?<used>\d+)/(?<total>\d+)$'`;
const GOOD = { ...linesProfile(`${FEATURE}\ncheckout = '^ (?<user>.+)$'`), name: "good" };
/**
 * Profile with an expression that hangs on a line of many `a` and another last letter. The back reference
 * prevents optimization.
 */
const EVIL = linesProfile(`${FEATURE}\ncheckout = ['^never', '^(a|aa)*(\\1)+$']`);
/** Output in which each line blocks the expression engine for a second. */
const HANGS = `solver 1/2\n${`${"a".repeat(60)}!\n`.repeat(30)}`;
const CONTEXT = { zone: "UTC", now: 0 };
const bytes = (text: string) => new TextEncoder().encode(text);

const open: { stop(): void }[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one.stop();
});

function createApart(limitMs: number) {
  const workers: Worker[] = [];
  const apart = createParseApart({
    limitMs,
    startWorker() {
      const worker = new Worker(new URL("../../src/workers/parsing.ts", import.meta.url).href);
      workers.push(worker);
      return worker;
    },
  });
  open.push(apart);
  return { ...apart, workers };
}

test("the first answer starts the worker, which reads it like the parser", async () => {
  const { read, workers } = createApart(60_000);
  expect(workers).toHaveLength(0);
  const people = Array.from({ length: 1_700 }, (_, index) => ` user ${index}\n`).join("");
  const text = `solver 1700/2000\n${people}mesher 0/1\n?\n`;
  const readings = await Promise.all(
    [text, "mesher 0/1\n", ""].map((each) => read(GOOD, bytes(each), CONTEXT, false)),
  );
  const direct = [text, "mesher 0/1\n", ""].map((each) => readAs(GOOD, each));
  expect(readings).toEqual(direct);
  expect(readings[0]?.features[0]?.checkouts).toHaveLength(1_700);
  expect(workers).toHaveLength(1);
  expect((await read(GOOD, bytes(text), { ...CONTEXT, step: "7@lic" }, true)).members[0]?.host).toBe("lic");
});

test("an expression that hangs is stopped and named; the next answer is read", async () => {
  const { read, workers } = createApart(2_000);
  let turns = 0;
  const ticking = setInterval(() => turns++, 5);
  const [hung, good] = await Promise.all([
    read(EVIL, bytes(HANGS), CONTEXT, false),
    read(GOOD, bytes("solver 1/2\n"), CONTEXT, false),
  ]);
  clearInterval(ticking);
  expect(hung).toMatchObject({ recognised: false, features: [] });
  expect(hung.problem).toMatch(
    /^The expression match\.checkout\[1\] of the manager own, on line \d+, did not finish within 2 s and was stopped\.$/,
  );
  expect(good.features).toMatchObject([{ name: "solver", used: 1, total: 2 }]);
  expect(workers).toHaveLength(2);
  expect(turns).toBeGreaterThan(5);
  const harmless = await read(EVIL, bytes("solver 1/2\n"), CONTEXT, false);
  expect(harmless.features).toHaveLength(1);
});

test("a worker that fails is reported and replaced", async () => {
  const { read, workers } = createApart(60_000);
  const waiting = read(GOOD, bytes("solver 1/2\n"), CONTEXT, false);
  workers[0]?.dispatchEvent(new ErrorEvent("error", { message: "out of memory" }));
  expect((await waiting).problem).toContain("out of memory");
  expect((await read(GOOD, bytes("solver 1/2\n"), CONTEXT, false)).features).toHaveLength(1);
});

test("stop drops queued answers", async () => {
  const { read, stop } = createApart(60_000);
  const waiting = read(GOOD, bytes("solver 1/2\n"), CONTEXT, false);
  stop();
  expect((await waiting).recognised).toBe(false);
});

/** Makes a `run` whose commands print these texts. */
const printing =
  (textOf: (program: string) => string): PollerDeps["run"] =>
  async ({ argv }) => ({
    started: true,
    argv,
    exitCode: 0,
    signal: null,
    stdout: bytes(textOf(argv[0] ?? "")),
    stderr: new Uint8Array(0),
    truncated: false,
    stderrTruncated: false,
    timedOut: false,
    aborted: false,
    abandoned: false,
    durationMs: 1,
  });

test("a poll whose answer hangs names the expression; other servers are polled", async () => {
  const said: Record<string, string> = { evil: HANGS, good: "solver 1/2\n" };
  const { poll } = createPoller({
    run: printing((program) => said[program] ?? ""),
    managerOf: (name) => profileManager({ ...(name === "evil" ? EVIL : GOOD), name, argv: [name] }),
    parseApart: createApart(2_000),
    measure: async () => [],
    path: "",
    clock: { now: () => 0 },
  });
  const [evil, good] = await Promise.all(
    ["evil", "good"].map((manager) => poll(server(manager, { manager, address: "lic", tool: [manager] }))),
  );
  expect(evil?.error).toMatchObject({
    code: "LICENSE_PARSE_ERROR",
    message: expect.stringMatching(/The expression match\.checkout\[1\] of the manager evil, on line \d+,/),
  });
  expect(good).toMatchObject({ error: null, reading: { features: [{ name: "solver" }] } });
});

test("an answer of a script is rejected if it is older than two polls", async () => {
  const profile = profileOf('[[managers]]\nname = "own"\nargv = ["own"]\nformat = "licmond"\n');
  const NOW = Date.parse("2030-01-01T12:00:00Z");
  const polled = async (asOf: string) => {
    const { poll } = createPoller({
      run: printing(() => JSON.stringify({ asOf, complete: true, features: [{ name: "solver" }] })),
      managerOf: () => profileManager(profile),
      parseApart: createApart(60_000),
      measure: async () => [],
      path: "",
      clock: { now: () => NOW },
    });
    return poll(server("own", { manager: "own", address: "lic", intervalMs: 60_000, timeoutMs: 30_000 }));
  };
  expect((await polled("2030-01-01T11:57:30Z")).error).toBeNull();
  const { error } = await polled("2030-01-01T11:57:29Z");
  expect(error).toMatchObject({ code: "LICENSE_QUERY_FAILED" });
  expect(error?.details).toContain("its asOf is 2030-01-01T11:57:29.000Z");
});
