/** Runs all tests and prints the sum. `scripts/test` calls it with the pinned Bun. */
import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { prepareBase } from "./machine/base.ts";

const HELP = `scripts/test [--unit] [--e2e] [--systemd] [--slow] [arguments of \`bun test\`]

  --unit     types, lint, unit and HTTP tests
  --e2e      build and end-to-end tests
  --systemd  build and the tests as a service of a real systemd, in a Debian booted for them (root only)
  --slow     also the slow tests: load, chaos, thousands of streams
  --help     this text

The default is --unit --e2e. Test files run in parallel, two for each core, because many of them wait. With --slow,
the files that measure memory or timing run afterwards, one at a time.
Other arguments go to \`bun test\`: a path such as test/e2e/cli, -t 'part of a test's name'.
\`--slow --update-timings\` records how long each file takes, so that the longest start first.
Passed tests are counted, not listed. The last line is the sum, "N passed, N failed"; the type check and the lint
count as one test each. Exit code: 0 when all passed, 1 when one failed or none ran.`;

const PARTS = ["--unit", "--e2e", "--systemd"];

/** Maximum duration of a test, as a guard against hanging; scripts/bench measures speed. */
const TEST_TIMEOUT_MS = 300_000;
const SLOW_TEST_TIMEOUT_MS = 600_000;
/** Time without output after which a step is killed. Every test prints a line within its own timeout. */
const silenceMs = () => 2 * (slow ? SLOW_TEST_TIMEOUT_MS : TEST_TIMEOUT_MS);
const PROGRESS_MS = 60_000;

/**
 * Number of parallel workers: two per CPU, because end-to-end tests spend half of their time waiting for
 * polls, alert groups and exiting processes.
 */
const WORKERS = 2 * availableParallelism();

/** Slow tests that measure memory or response times of a daemon under load. They run one at a time, after all others. */
const QUIET_FILES = ["connections", "streams-slow-reader", "tools-misbehave"].map(
  (name) => `test/e2e/${name}.test.ts`,
);

/** Seconds of each test file, written by `--slow --update-timings`. */
const TIMINGS = "test/timings.json";

const root = join(import.meta.dir, "../..");
const bun = process.execPath;

interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: readonly string[];
}

const NOTHING: Tally = { passed: 0, failed: 0, skipped: [] };
const FAILED: Tally = { passed: 0, failed: 1, skipped: [] };

interface Ended {
  readonly output: string;
  readonly exitCode: number | null;
}

/** Runs a program and prints its output. Kills it when it prints nothing for too long. */
async function run(argv: string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const child = Bun.spawn(argv, {
    cwd: root,
    env: { ...environment(), ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const hung = setTimeout(() => {
    console.log(`… killed after ${silenceMs() / 1000} s without output`);
    child.kill("SIGTERM");
    setTimeout(() => child.kill("SIGKILL"), 5000).unref();
  }, silenceMs());
  const startedAt = performance.now();
  let passed = 0;
  const progress = setInterval(() => {
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    if (passed > 0) console.log(`… ${passed} passed after ${seconds} s`);
  }, PROGRESS_MS);

  const shown: string[] = [];
  /** A file's name, printed only before a line about that file. */
  let heading = "";
  const show = (line: string) => {
    hung.refresh();
    if (/^\((pass|skip)\) /.test(line)) passed += line.startsWith("(pass)") ? 1 : 0;
    else if (line.trim() === "") heading ||= "\n";
    else if (/^test\/\S+\.test\.ts:$/.test(line)) heading = `\n${line}\n`;
    else {
      // The summary is not about a test file, so print no file name above it.
      if (/^\s*\d+ pass$/.test(line)) heading = "\n";
      shown.push(line);
      process.stdout.write(`${heading}${line}\n`);
      heading = "";
    }
  };
  // stdout and stderr are merged, so that the sum is the last line even if they are redirected together.
  const read = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const bytes of stream) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      lines.forEach(show);
    }
    if (rest !== "") show(rest);
  };
  await Promise.all([read(child.stdout), read(child.stderr), child.exited]);
  clearTimeout(hung);
  clearInterval(progress);
  return { output: shown.join("\n"), exitCode: child.exitCode };
}

/** Variables that this script sets; the caller's values are dropped. */
const OURS = ["NODE_ENV", "SLOW_TESTS", "SYSTEMD_TEST_BASE"];
/** Whether slow tests run, which need `SLOW_TESTS=1`. */
let slow = false;

/** Returns the caller's environment without variables that could change the outcome. */
function environment(): Record<string, string> {
  // With CI=true, a left-over `test.only` is an error and no snapshot is written.
  const clean: Record<string, string> = { CI: "true", ...(slow && { SLOW_TESTS: "1" }) };
  for (const [name, value] of Object.entries(process.env)) {
    if (value === undefined || name.startsWith("LICMOND_") || OURS.includes(name)) continue;
    clean[name] ??= value;
  }
  return clean;
}

async function program(argv: string[]): Promise<Tally> {
  return (await run(argv)).exitCode === 0 ? { passed: 1, failed: 0, skipped: [] } : FAILED;
}

/** Patterns of the test files to leave out, for each choice of parts. */
const LEFT_OUT = {
  unit: "test/{e2e,systemd}/**",
  e2e: "test/!(e2e)/**",
  both: "test/systemd/**",
  systemd: "test/!(systemd)/**",
} as const;

/**
 * Options for parallel tests. Each worker keeps its loaded modules for the next file, as a serial run
 * would.
 */
const PARALLEL = [`--parallel=${WORKERS}`, "--no-isolate"];

interface Selection {
  readonly leftOut: readonly string[];
  readonly filters: readonly string[];
  readonly how?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs the selected tests. `filters` come from the caller and may be paths. */
async function bunTest({ leftOut, filters, how = [], env }: Selection): Promise<Tally> {
  const report = await mkdtemp(join(tmpdir(), "licmond-tests-"));
  try {
    const reportFile = join(report, "report.xml");
    const argv = [
      bun,
      "test",
      // Kills daemons that a failed test left running.
      "--no-orphans",
      `--timeout=${slow ? SLOW_TEST_TIMEOUT_MS : TEST_TIMEOUT_MS}`,
      "--reporter=junit",
      `--reporter-outfile=${reportFile}`,
      `--timings=${TIMINGS}`,
      ...leftOut.map((pattern) => `--path-ignore-patterns=${pattern}`),
      ...how,
      ...filters,
    ];
    const { output, exitCode } = await run(argv, env);
    const written = (await Bun.file(reportFile).exists()) ? await Bun.file(reportFile).text() : null;
    if (/did not match any test|matched 0 tests/.test(output)) return filters.length > 0 ? NOTHING : FAILED;
    return tallyOf(written, output, exitCode);
  } finally {
    await rm(report, { recursive: true, force: true });
  }
}

/**
 * Counts tests from the JUnit report, which is null after a crash. Errors outside of tests, as in a file that does not load,
 * are only in the printed summary. A non-zero exit code counts as at least one failure.
 */
function tallyOf(report: string | null, output: string, exitCode: number | null): Tally {
  const skipped: string[] = [];
  let passed = 0;
  let failed = Number(/^\s*(\d+) errors?$/m.exec(output)?.[1] ?? 0);
  for (const [, attributes = "", body = ""] of (report ?? "").matchAll(
    /<testcase\b([^>]*?)(?:\/>|>(.*?)<\/testcase>)/gs,
  )) {
    const named = (name: string) => new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1];
    if (/<failure|<error/.test(body)) failed++;
    else if (body.includes("<skipped")) skipped.push(`${named("file")} > ${named("name")}`);
    else passed++;
  }
  return { passed, failed: failed === 0 && exitCode !== 0 ? 1 : failed, skipped };
}

/** Formats `12 passed, 0 failed`, with `, 3 skipped` if any were skipped. */
function lineOf({ passed, failed, skipped }: Tally): string {
  return `${passed} passed, ${failed} failed${skipped.length === 0 ? "" : `, ${skipped.length} skipped`}`;
}

/** Boots a Debian and runs the service in it. Where that is impossible, the tests are skipped and listed. */
async function systemdTests(filters: readonly string[]): Promise<Tally> {
  const base = await prepareBase(join(root, ".cache"), (line) => console.log(`licmond: ${line}`));
  if (base.kind === "failed") {
    console.log(base.why);
    return FAILED;
  }
  if (base.kind === "impossible") console.log(`licmond: NO TEST ON A REAL SYSTEMD: ${base.why}`);
  const env: Record<string, string> = base.kind === "ready" ? { SYSTEMD_TEST_BASE: base.root } : {};
  return bunTest({ leftOut: [LEFT_OUT.systemd], filters, env });
}

/** Runs test files in parallel. */
function parallelTests(part: keyof typeof LEFT_OUT, filters: readonly string[]): Promise<Tally> {
  return bunTest({ leftOut: [LEFT_OUT[part], ...(slow ? QUIET_FILES : [])], filters, how: PARALLEL });
}

/** Runs the files that need a quiet machine, one at a time. */
function quietTests(filters: readonly string[]): Promise<Tally> {
  const names = QUIET_FILES.map((path) => basename(path, ".test.ts")).join("|");
  return bunTest({ leftOut: [LEFT_OUT.e2e, `test/e2e/!(${names}).test.ts`], filters });
}

async function main(args: string[]): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    console.log(HELP);
    return 0;
  }
  const named = PARTS.filter((part) => args.includes(part));
  const parts = named.length > 0 ? named : ["--unit", "--e2e"];
  slow = args.includes("--slow");
  const filters = args.filter((arg) => arg !== "--slow" && !PARTS.includes(arg));

  const tallies: Tally[] = [];
  const step = async (name: string, work: () => Promise<Tally>): Promise<Tally> => {
    console.log(`── ${name}`);
    const startedAt = performance.now();
    const tally = await work();
    tallies.push(tally);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    console.log(`── ${name}: ${tally.failed > 0 ? "FAILED" : "ok"}, ${lineOf(tally)} (${seconds} s)\n`);
    return tally;
  };

  const [unit, e2e, systemd] = PARTS.map((part) => parts.includes(part));
  if (unit) {
    await step("types", () => program([bun, "run", "--silent", "check"]));
    await step("lint", () => program([bun, "run", "--silent", "lint"]));
  }
  let isBuilt = false;
  if (e2e || systemd) {
    const build = await step("build", async () => {
      const built = await program([bun, "scripts/build.ts", "--if-changed"]);
      return built.failed > 0 ? built : NOTHING;
    });
    // A failed build leaves nothing to test.
    isBuilt = build.failed === 0;
  }
  if (unit && e2e && isBuilt)
    await step("unit, HTTP and end-to-end tests", () => parallelTests("both", filters));
  else if (unit) await step("unit and HTTP tests", () => parallelTests("unit", filters));
  else if (e2e && isBuilt) await step("end-to-end tests", () => parallelTests("e2e", filters));
  if (slow && e2e && isBuilt) await step("tests that need a quiet machine", () => quietTests(filters));
  if (systemd && isBuilt) await step("tests on a real systemd", () => systemdTests(filters));

  const total: Tally = {
    passed: tallies.reduce((sum, { passed }) => sum + passed, 0),
    failed: tallies.reduce((sum, { failed }) => sum + failed, 0),
    skipped: tallies.flatMap(({ skipped }) => skipped),
  };
  if (total.skipped.length > 0)
    console.log(`skipped:\n${total.skipped.map((title) => `  ${title}`).join("\n")}`);
  console.log(lineOf(total));
  return total.failed === 0 && total.passed > 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
