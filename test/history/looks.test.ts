import { describe, expect, test } from "bun:test";
import { type Coverage, type Look, type LookState, takeLook } from "../../src/history/look.ts";

const MINUTE = 60_000;
const look = (at: number, good = true): Look => ({ at, good, intervalMs: MINUTE, timeoutMs: MINUTE / 2 });

/** Looks in their order, over rows that a store would hold; `null` is a restart. */
function play(looks: readonly (Look | null)[]) {
  const rows = new Map<number, Coverage>();
  let state: LookState | null = null;
  const records: string[] = [];
  for (const one of looks) {
    if (one === null) {
      state = null;
      continue;
    }
    const sorted = [...rows.values()].sort((a, b) => a.from - b.from);
    const looked = takeLook(state, one, () => ({
      before: sorted.findLast(({ from }) => from <= one.at) ?? null,
      nextFrom: sorted.find(({ from }) => from > one.at)?.from ?? null,
    }));
    for (const row of looked.rows) rows.set(row.from, row);
    state = looked.state;
    records.push(looked.record);
  }
  const covered = [...rows.values()].sort((a, b) => a.from - b.from).map(({ from, until }) => [from, until]);
  return { covered, records };
}

const at = (minutes: number) => minutes * MINUTE;

describe("coverage", () => {
  test.each<[string, (Look | null)[], [number, number][]]>([
    ["one reading holds for an interval", [look(at(10))], [[10, 11]]],
    ["polls in time hold together", [look(at(10)), look(at(11)), look(at(13.5))], [[10, 14.5]]],
    [
      "later than 2 × interval + timeout is a gap",
      [look(at(10)), look(at(12.6))],
      [
        [10, 11],
        [12.6, 13.6],
      ],
    ],
    ["a poll that failed ends it then", [look(at(10)), look(at(11.5), false)], [[10, 11.5]]],
    ["failures prove nothing", [look(at(10), false), look(at(11), false)], []],
    [
      "a late failure takes nothing more",
      [look(at(10)), look(at(15), false), look(at(16))],
      [
        [10, 11],
        [16, 17],
      ],
    ],
    [
      "a restart in time leaves no gap",
      [look(at(10)), null, look(at(12))],
      [
        [10, 12],
        [12, 13],
      ],
    ],
    ["a restart in time with a failure ends it then", [look(at(10)), null, look(at(12), false)], [[10, 12]]],
    [
      "a long stop is a gap",
      [look(at(10)), null, look(at(30))],
      [
        [10, 11],
        [30, 31],
      ],
    ],
    [
      "a failure before the stop is not joined",
      [look(at(10)), look(at(11), false), null, look(at(12))],
      [
        [10, 11],
        [12, 13],
      ],
    ],
    [
      "time that was covered stays, until a clock that was set back has passed it",
      [
        look(at(100)),
        look(at(101)),
        look(at(60)),
        look(at(61)),
        look(at(99)),
        look(at(100)),
        look(at(101.5)),
        look(at(103)),
      ],
      [
        [60, 62],
        [99, 100],
        [100, 101.5],
        [101.5, 104],
      ],
    ],
    [
      "a clock set back a little records nothing twice",
      [look(at(100)), look(at(101)), look(at(100.5)), look(at(102))],
      [
        [100, 102],
        [102, 103],
      ],
    ],
    [
      "a clock set forward is a gap",
      [look(at(10)), look(at(100)), look(at(101))],
      [
        [10, 11],
        [100, 102],
      ],
    ],
    [
      "a clock set back while the server fails takes back what is not proven",
      [look(at(10)), look(at(5), false)],
      [[10, 10]],
    ],
  ])("%s", (_, looks, covered) => {
    expect(play(looks).covered).toEqual(covered.map(([from, until]) => [at(from), at(until)]));
  });

  test("every coverage begins with all counts, and goes on with changes", () => {
    expect(
      play([look(at(10)), look(at(11)), look(at(12), false), look(at(13)), null, look(at(14))]).records,
    ).toEqual(["all", "changes", "nothing", "all", "all"]);
  });
});
