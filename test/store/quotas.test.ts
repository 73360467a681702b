import { afterEach, describe, expect, test } from "bun:test";
import { createQuotas, type Quotas } from "../../src/store/quotas.ts";
import { cleanUp, fixedClock, open, temporaryDirectory } from "./place.ts";

afterEach(cleanUp);

const DAY = 86_400_000;
const NOON = Date.parse("2026-03-02T12:00:00.000Z");
const MIDNIGHT = Date.parse("2026-03-03T00:00:00.000Z");
const APRIL = Date.parse("2026-04-01T00:00:00.000Z");

function make(now = NOON) {
  const clock = fixedClock(now);
  const store = open(temporaryDirectory());
  return { store, clock, quotas: createQuotas({ store, clock }) };
}

function takeTimes(quotas: Quotas, times: number, daily: number | null, monthly: number | null) {
  const answers = [];
  for (let n = 0; n < times; n++) answers.push(quotas.take("k", { daily, monthly }));
  return answers;
}

describe("a quota", () => {
  test.each<[number | null, number | null, number, object | null]>([
    [null, null, 5, null],
    [5, null, 5, null],
    [4, null, 5, { period: "day", limit: 4, until: MIDNIGHT }],
    [null, 4, 5, { period: "month", limit: 4, until: APRIL }],
    [4, 4, 5, { period: "month", limit: 4, until: APRIL }],
    [4, 9, 5, { period: "day", limit: 4, until: MIDNIGHT }],
    [1, 1, 1, null],
  ])("of %j a day, %j a month: the %ith request", (daily, monthly, times, refusal) => {
    const { quotas } = make();
    const answers = takeTimes(quotas, times, daily, monthly);
    expect<unknown>(answers.at(-1)).toEqual(refusal);
    expect(answers.slice(0, -1)).toEqual(Array(times - 1).fill(null));
    // Refused requests do not count.
    expect(quotas.used("k").day).toBe(times - (refusal === null ? 0 : 1));
  });

  test("applies to its key, with the current limits", () => {
    const { quotas } = make();
    takeTimes(quotas, 3, 3, null);
    expect(quotas.take("other", { daily: 1, monthly: 1 })).toBeNull();
    expect(quotas.take("k", { daily: 4, monthly: null })).toBeNull();
    expect(quotas.take("k", { daily: 2, monthly: null })?.period).toBe("day");
  });

  test.each([
    ["the last millisecond of the day", MIDNIGHT - 1, { day: 3, month: 3 }],
    ["midnight UTC", MIDNIGHT, { day: 0, month: 3 }],
    ["the last millisecond of the month", APRIL - 1, { day: 0, month: 3 }],
    ["the first of the month UTC", APRIL, { day: 0, month: 0 }],
    ["a year later", NOON + 365 * DAY, { day: 0, month: 0 }],
  ])("counts by UTC days and months: %s", (_, at, used) => {
    const { quotas, clock } = make();
    takeTimes(quotas, 3, null, null);
    clock.time = at;
    expect(quotas.used("k")).toEqual(used);
  });

  test.each([
    ["is not renewed by a clock that is set back over midnight", APRIL + 5, APRIL - 60_000, "day"],
    ["is renewed if the clock was wrong by years", NOON + 900 * DAY, NOON, undefined],
  ] as const)("%s", (_, first, then, refused) => {
    const { quotas, clock } = make(first);
    takeTimes(quotas, 2, 2, 2);
    clock.time = then;
    expect(quotas.take("k", { daily: 2, monthly: null })?.period).toBe(refused);
    clock.time = first;
    expect(quotas.used("k").month).toBe(refused === undefined ? 0 : 2);
  });
});

describe("counts", () => {
  const writes = ({ sqlite }: ReturnType<typeof make>["store"]) =>
    Number(sqlite.query("SELECT total_changes()").values()[0]?.[0]);

  test("cost no write until flush, and then one row per key", () => {
    const { quotas, store } = make();
    const before = writes(store);
    takeTimes(quotas, 500, null, null);
    expect(writes(store)).toBe(before);
    for (let turn = 0; turn < 2; turn++) {
      quotas.flush();
      expect(writes(store)).toBe(before + 1);
    }
  });

  test("continue after a restart", () => {
    const { quotas, store, clock } = make();
    takeTimes(quotas, 3, null, null);
    clock.time = MIDNIGHT;
    takeTimes(quotas, 2, null, null);
    quotas.flush();
    store.close();
    const again = createQuotas({ store: open(store.directory), clock });
    expect(again.used("k")).toEqual({ day: 2, month: 5 });
    expect(again.take("k", { daily: 2, monthly: null })?.period).toBe("day");
  });

  test("are written later if a write fails", () => {
    const { quotas, store, clock } = make();
    takeTimes(quotas, 3, null, null);
    store.sqlite.run("PRAGMA query_only = ON");
    expect(() => quotas.flush()).toThrow(/cannot be written/);
    store.sqlite.run("PRAGMA query_only = OFF");
    quotas.flush();
    expect(createQuotas({ store, clock }).used("k").month).toBe(3);
  });

  test("are removed from memory and database after their month", () => {
    const { quotas, store, clock } = make();
    for (let n = 0; n < 50; n++) quotas.take(`old ${n}`, { daily: null, monthly: null });
    quotas.flush();
    clock.time = APRIL + DAY;
    quotas.take("k", { daily: null, monthly: null });
    quotas.flush();
    expect(store.sqlite.query("SELECT key_id, month_count FROM quota_counts").all()).toEqual([
      { key_id: "k", month_count: 1 } as never,
    ]);
  });
});
