/** How many tests passed, failed and were left out; the left-out ones by name. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: readonly string[];
}

export const nothing: Tally = { passed: 0, failed: 0, skipped: [] };
export const onePassed: Tally = { passed: 1, failed: 0, skipped: [] };
export const oneFailed: Tally = { passed: 0, failed: 1, skipped: [] };

export function sum(tallies: readonly Tally[]): Tally {
  return {
    passed: tallies.reduce((total, tally) => total + tally.passed, 0),
    failed: tallies.reduce((total, tally) => total + tally.failed, 0),
    skipped: tallies.flatMap((tally) => tally.skipped),
  };
}

/** The last line of a test run: `12 passed, 0 failed`, and `, 3 skipped` where some were. */
export function lastLine(tally: Tally): string {
  const skipped = tally.skipped.length === 0 ? "" : `, ${tally.skipped.length} skipped`;
  return `${tally.passed} passed, ${tally.failed} failed${skipped}`;
}

/** A run is good when something was tested and nothing failed. */
export function isGood(tally: Tally): boolean {
  return tally.failed === 0 && tally.passed > 0;
}

export interface BunTestRun {
  /** Text of the JUnit report; null when none was written, as after a crash. */
  readonly report: string | null;
  /** What `bun test` printed on the terminal. */
  readonly output: string;
  readonly exitCode: number | null;
}

/**
 * Counts a `bun test` run by its JUnit report. The report knows nothing of errors outside of tests (a file that
 * does not load), so these are taken from the summary; and a run that ended badly without a failure is one.
 */
export function tallyOf(run: BunTestRun): Tally {
  const skipped: string[] = [];
  let passed = 0;
  let failed = Number(/^\s*(\d+) errors?$/m.exec(run.output)?.[1] ?? 0);
  for (const [, attributes = "", body = ""] of (run.report ?? "").matchAll(
    /<testcase\b([^>]*?)(?:\/>|>(.*?)<\/testcase>)/gs,
  )) {
    if (body.includes("<failure") || body.includes("<error")) failed++;
    else if (body.includes("<skipped")) skipped.push(titleOf(attributes));
    else passed++;
  }
  if (failed === 0 && run.exitCode !== 0) failed = 1;
  return { passed, failed, skipped };
}

function titleOf(attributes: string): string {
  const attribute = (name: string) =>
    unescapeXml(new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? "");
  return [attribute("file"), attribute("classname"), attribute("name")]
    .filter((part) => part !== "")
    .join(" > ");
}

const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };

function unescapeXml(text: string): string {
  return text.replace(/&(?:#(\d+)|(\w+));/g, (whole, code?: string, name?: string) =>
    code === undefined ? (entities[name ?? ""] ?? whole) : String.fromCodePoint(Number(code)),
  );
}
