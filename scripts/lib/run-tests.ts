/** Runs every kind of test and sums them up; `scripts/test` calls it with the pinned Bun. */
import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { prepareBase } from "./machine/base.ts";

const HELP = `scripts/test [--unit] [--e2e] [--systemd] [--slow] [arguments of \`bun test\`]

  --unit     types, lint, unit and HTTP tests
  --e2e      build and end-to-end tests
  --systemd  build and the tests as a service of a real systemd: a Debian that is booted for them (root only)
  --slow     the tests that take their time too: load, chaos, thousands of streams
  --help     this text

Without a part's name: --unit --e2e. Their test files run side by side, two for each core, because many of
them wait; with --slow one after the other, because slow tests measure.
Everything else goes to \`bun test\`: a path such as test/e2e/cli, -t 'part of a test's name'.
The last line is the sum, "N passed, N failed"; the type check and the lint count as one test each.
Exit code: 0 when all passed, 1 when one failed or none ran.`;

const PARTS = ["--unit", "--e2e", "--systemd"];

/** A step that takes this long hangs: several times what it takes on a slow machine. */
const STEP_TIMEOUT_MS = 15 * 60_000;
const SLOW_STEP_TIMEOUT_MS = 75 * 60_000;
/** A guard against a test that hangs, not a bound of what is quick enough: that is for scripts/bench. */
const TEST_TIMEOUT_MS = 300_000;
const SLOW_TEST_TIMEOUT_MS = 600_000;

/** End-to-end tests wait for half of their time: for polls, for groups of alerts, for processes that end. */
const WORKERS = 2 * availableParallelism();

const root = join(import.meta.dir, "../..");
const bun = process.execPath;

/** How many tests passed and failed, and the names of those that were left out. */
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

/** Runs a program to its end, showing what it prints as it comes. */
async function run(
  argv: string[],
  env: Readonly<Record<string, string>> = {},
  timeoutMs = slow ? SLOW_STEP_TIMEOUT_MS : STEP_TIMEOUT_MS,
): Promise<Ended> {
  const child = Bun.spawn(argv, {
    cwd: root,
    env: { ...environment(), ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const timer = setTimeout(() => {
    console.log(`… it hangs: ended after ${timeoutMs / 1000} s`);
    child.kill("SIGTERM");
    setTimeout(() => child.kill("SIGKILL"), 5000).unref();
  }, timeoutMs);
  const shown: string[] = [];
  // Everything on one stream, so that the sum is the last line however the two are put together.
  const show = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const bytes of stream) {
      const text = decoder.decode(bytes, { stream: true });
      shown.push(text);
      process.stdout.write(text);
    }
  };
  await Promise.all([show(child.stdout), show(child.stderr), child.exited]);
  clearTimeout(timer);
  return { output: shown.join(""), exitCode: child.exitCode };
}

/** Not the caller's to say. */
const OURS = ["NODE_ENV", "SLOW_TESTS", "SYSTEMD_TEST_BASE"];
/** Tests that take their time ask for `SLOW_TESTS=1`. */
let slow = false;

/** The caller's environment without what would change the outcome. */
function environment(): Record<string, string> {
  // CI: `test.only` left in a file is an error, and no snapshot is written on the quiet.
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

/** Test files that each choice of parts leaves out. */
const LEFT_OUT = {
  unit: "test/{e2e,systemd}/**",
  e2e: "test/!(e2e)/**",
  both: "test/systemd/**",
  systemd: "test/!(systemd)/**",
} as const;

/** Runs the tests of some parts that fit the caller's filters, which may name paths. */
async function bunTest(
  parts: keyof typeof LEFT_OUT,
  filters: readonly string[],
  ...how: [env?: Readonly<Record<string, string>>, timeoutMs?: number]
): Promise<Tally> {
  const report = await mkdtemp(join(tmpdir(), "licmond-tests-"));
  try {
    const reportFile = join(report, "report.xml");
    const argv = [
      bun,
      "test",
      // A daemon that a failed test left running dies with the run.
      "--no-orphans",
      "--only-failures",
      `--timeout=${slow ? SLOW_TEST_TIMEOUT_MS : TEST_TIMEOUT_MS}`,
      "--reporter=junit",
      `--reporter-outfile=${reportFile}`,
      `--path-ignore-patterns=${LEFT_OUT[parts]}`,
      // Each worker keeps what it has loaded, as one process for all files would.
      ...(slow || parts === "systemd" ? [] : [`--parallel=${WORKERS}`, "--no-isolate"]),
      ...filters,
    ];
    const { output, exitCode } = await run(argv, ...how);
    const written = (await Bun.file(reportFile).exists()) ? await Bun.file(reportFile).text() : null;
    if (filters.length > 0 && /did not match any test|matched 0 tests/.test(output)) return NOTHING;
    return tallyOf(written, output, exitCode);
  } finally {
    await rm(report, { recursive: true, force: true });
  }
}

/**
 * Counts a `bun test` run by its JUnit report; null when none was written, as after a crash. The report leaves out errors
 * outside of tests (a file that does not load): the summary counts them. A run that ends badly has at least one failure.
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

/** `12 passed, 0 failed`, and `, 3 skipped` where some were. */
function lineOf({ passed, failed, skipped }: Tally): string {
  return `${passed} passed, ${failed} failed${skipped.length === 0 ? "" : `, ${skipped.length} skipped`}`;
}

/** Boots the service in a Debian of its own; where that is impossible, the tests are skipped by name. */
async function systemdTests(filters: readonly string[]): Promise<Tally> {
  const base = await prepareBase(join(root, ".cache"), (line) => console.log(`licmond: ${line}`));
  if (base.kind === "failed") {
    console.log(base.why);
    return FAILED;
  }
  if (base.kind === "impossible") console.log(`licmond: NO TEST ON A REAL SYSTEMD: ${base.why}`);
  const env: Record<string, string> = base.kind === "ready" ? { SYSTEMD_TEST_BASE: base.root } : {};
  return bunTest("systemd", filters, env, SLOW_STEP_TIMEOUT_MS);
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
    // Without a binary there is nothing to try: the failed build is the failure.
    isBuilt = build.failed === 0;
  }
  if (unit && e2e && isBuilt) await step("unit, HTTP and end-to-end tests", () => bunTest("both", filters));
  else if (unit) await step("unit and HTTP tests", () => bunTest("unit", filters));
  else if (e2e && isBuilt) await step("end-to-end tests", () => bunTest("e2e", filters));
  if (systemd && isBuilt) await step("tests on a real systemd", () => systemdTests(filters));

  const total: Tally = {
    passed: tallies.reduce((sum, { passed }) => sum + passed, 0),
    failed: tallies.reduce((sum, { failed }) => sum + failed, 0),
    skipped: tallies.flatMap(({ skipped }) => skipped),
  };
  if (total.skipped.length > 0)
    console.log(`skipped:\n${total.skipped.map((title) => `  ${title}`).join("\n")}`);
  console.log(lineOf(total));
  // A run is good when something was tested and nothing failed.
  return total.failed === 0 && total.passed > 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
