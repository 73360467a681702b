import { describe, expect, test } from "bun:test";
import { type Coverage, type Look, takeLook } from "../../src/history/recorder.ts";

const MINUTE = 60_000;
const look = (at: number, good = true): Look => ({ at, good, intervalMs: MINUTE, timeoutMs: MINUTE / 2 });

/** Looks in their order, over rows that a store would hold; `null` is a restart. */
function play(looks: readonly (Look | null)[]) {
  const rows = new Map<number, Coverage>();
  let own: number | null | undefined;
  const records: string[] = [];
  for (const one of looks) {
    if (one === null) {
      own = undefined;
      continue;
    }
    const sorted = [...rows.values()].sort((a, b) => a.from - b.from);
    const at = one.good ? one.at : Math.max(one.at, own ?? one.at);
    const looked = takeLook(own, one, {
      before: sorted.findLast(({ from }) => from <= at) ?? null,
      nextFrom: sorted.find(({ from }) => from > at)?.from ?? Infinity,
    });
    for (const row of looked.rows) rows.set(row.from, row);
    own = looked.from;
    records.push(own === null ? "nothing" : own === one.at ? "all" : "changes");
  }
  const covered = [...rows.values()].sort((a, b) => a.from - b.from).map(({ from, until }) => [from, until]);
  return { covered, records };
}

/** Looks by their minutes: `!` is a poll that failed, `restart` a restart of the process. */
function looksOf(text: string): (Look | null)[] {
  return text.split(" ").map((word) => {
    if (word === "restart") return null;
    return look(Number.parseFloat(word) * MINUTE, !word.endsWith("!"));
  });
}

describe("coverage", () => {
  test.each<[string, string, string]>([
    ["one reading holds for an interval", "10", "10-11"],
    ["polls in time hold together", "10 11 13.5", "10-14.5"],
    ["later than 2 × interval + timeout is a gap", "10 12.6", "10-11 12.6-13.6"],
    ["a poll that failed ends it then", "10 11.5!", "10-11.5"],
    ["failures prove nothing", "10! 11!", ""],
    ["a late failure takes nothing more", "10 15! 16", "10-11 16-17"],
    ["a restart in time leaves no gap", "10 restart 12", "10-12 12-13"],
    ["a restart in time with a failure ends it then", "10 restart 12!", "10-12"],
    ["a long stop is a gap", "10 restart 30", "10-11 30-31"],
    ["a failure before the stop is not joined", "10 11! restart 12", "10-11 12-13"],
    [
      "time that was covered stays, until a clock that was set back has passed it",
      "100 101 60 61 99 100 101.5 103",
      "60-62 99-100 100-101.5 101.5-104",
    ],
    ["a clock set back a little records nothing twice", "100 101 100.5 102", "100-102 102-103"],
    ["a clock set forward is a gap", "10 100 101", "10-11 100-102"],
    ["a clock set back while the server fails takes back what is not proven", "10 5!", "10-10"],
  ])("%s", (_, looks, covered) => {
    const spans = play(looksOf(looks)).covered.map((span) => span.map((ms = 0) => ms / MINUTE).join("-"));
    expect(spans.join(" ")).toBe(covered);
  });

  test("every coverage begins with all counts, and goes on with changes", () => {
    const { records } = play(looksOf("10 11 12! 13 restart 14"));
    expect(records).toEqual(["all", "changes", "nothing", "all", "all"]);
  });
});
