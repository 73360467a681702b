import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { runTool } from "../../src/cli/simulate.ts";
import type { CheckoutReading, FeatureReading, Reading } from "../../src/domain/reading.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/domain/time/clock.ts";
import { managerOf } from "../../src/managers/registry.ts";
import { weekAt } from "../../src/simulator/calendar.ts";
import { SERVERS } from "../../src/simulator/servers.ts";
import { createSite, isSilent } from "../../src/simulator/site.ts";
import type { ServerSpec } from "../../src/simulator/spec.ts";
import { readAs } from "../managers/read-as.ts";

const ZONE = "Europe/Berlin";
const CLOCK = { zone: ZONE, ahead: 0 };
const NOON = Date.parse("2026-11-18T11:00:00Z");
const site = createSite({ seed: 7, zone: ZONE });

/** Half a year contains a change of the clocks and of the year, but needs only few simulated weeks. */
const instants = fc.integer({ min: Date.parse("2026-10-19"), max: Date.parse("2027-04-05") });
const servers = fc.constantFrom(...SERVERS);

function found<T>(one: T | undefined): T {
  if (one === undefined) throw new Error("it is not there");
  return one;
}
const server = (id: string): ServerSpec => found(SERVERS.find((one) => one.id === id));
const feature = (reading: Reading, name: string): FeatureReading =>
  found(reading.features.find((one) => one.name === name));

function sum(list: readonly { readonly count: number }[]): number {
  return list.reduce((total, { count }) => total + count, 0);
}

/** Identifies a checkout within its feature. Few managers print all of these fields. */
function nameOf({ handle, pid, user, host, startedAt }: CheckoutReading): string {
  return String(handle ?? pid ?? `${user} ${host} ${startedAt}`);
}

function checkoutsOf(reading: Reading): Map<string, CheckoutReading> {
  const found = new Map<string, CheckoutReading>();
  for (const { daemon, name, checkouts } of reading.features) {
    for (const checkout of checkouts) found.set(`${daemon} ${name} ${nameOf(checkout)}`, checkout);
  }
  return found;
}

function usedAt(id: string, instant: number): number {
  return site.reading(server(id), instant).features.reduce((total, { used }) => total + (used ?? 0), 0);
}

describe("a reading", () => {
  test("depends only on the seed", () => {
    const [again, other] = [7, 8].map((seed) => createSite({ seed, zone: ZONE }));
    for (const spec of SERVERS) {
      // `again` simulates other weeks first, which must not change its answers.
      again?.reading(spec, NOON - 40 * DAY_MS);
      again?.reading(spec, NOON + 40 * DAY_MS);
      expect(again?.reading(spec, NOON)).toEqual(site.reading(spec, NOON));
      expect(other?.reading(spec, NOON)).not.toEqual(site.reading(spec, NOON));
    }
  });

  test("of every server survives printing and parsing", () => {
    fc.assert(
      fc.property(servers, instants, (spec, instant) => {
        const manager = managerOf(spec.manager);
        const [step] = manager.steps(["licmond"], spec.address);
        if (step === undefined || !("argv" in step)) throw new Error("a command asks it");
        const own = ["--server", spec.id, "--seed", "7", "--timezone", ZONE];
        const { stdout } = runTool(manager, [...own, ...step.argv.slice(1)], step.stdin ?? "", instant);
        const parsed = readAs(spec.manager, stdout, { zone: ZONE, now: instant, step: step.name });
        expect(parsed.unparsed).toEqual([]);
        expect(parsed).toEqual(site.reading(spec, instant));
      }),
      { numRuns: 120 },
    );
  });

  test("never has more seats than issued, and adds up", () => {
    fc.assert(
      fc.property(servers, instants, (spec, instant) => {
        const reading = site.reading(spec, instant);
        for (const { total, used, unlimited, checkouts, reservations, queue } of reading.features) {
          for (const { startedAt } of checkouts) expect(startedAt ?? 0).toBeLessThanOrEqual(instant);
          if (unlimited) continue;
          expect(used).toBeLessThanOrEqual(total ?? -1);
          expect(used).toBe(sum(checkouts) + sum(reservations));
          if (!spec.queues) expect(queue).toEqual([]);
        }
        // Without a handle or PID, two checkouts of one minute are distinguished by feature.
        const handles = [...checkoutsOf(reading)].map(([name, { handle, pid }]) =>
          String(handle ?? pid ?? name),
        );
        expect(new Set(handles).size).toBe(handles.length);
      }),
      { numRuns: 200 },
    );
  });

  test("a minute later, checkouts are the same", () => {
    let kept = 0;
    fc.assert(
      fc.property(servers, instants, (spec, instant) => {
        const earlierReading = site.reading(spec, instant);
        if (earlierReading.errors.length > 0) return;
        const before = checkoutsOf(earlierReading);
        for (const [key, after] of checkoutsOf(site.reading(spec, instant + MINUTE_MS))) {
          const earlier = before.get(key);
          if (earlier === undefined) {
            // Only the minute of a start is printed.
            expect(after.startedAt ?? instant).toBeGreaterThan(instant - MINUTE_MS);
            continue;
          }
          kept++;
          const same = { lingerSeconds: null };
          expect({ ...after, ...same }).toEqual({ ...earlier, ...same });
          if (after.borrowed) expect(after.lingerSeconds).toBe((earlier.lingerSeconds ?? 0) - 60);
        }
      }),
      { numRuns: 200, examples: [[server("eda"), NOON]] },
    );
    expect(kept).toBeGreaterThan(100);
  });

  test("seats are held over the change of weeks", () => {
    const { endsAt } = weekAt(CLOCK, NOON);
    const before = checkoutsOf(site.reading(server("cae"), endsAt - 1000));
    const after = checkoutsOf(site.reading(server("cae"), endsAt + 1000));
    expect(before.size).toBeGreaterThan(0);
    for (const [key, checkout] of before) expect(after.get(key)).toEqual(checkout);
  });
});

describe("people", () => {
  test("have a week that is ahead of the real one", () => {
    // On a Sunday evening, the simulation shows the previous Wednesday at noon.
    const sunday = NOON + 4 * DAY_MS + 9 * HOUR_MS;
    const moved = createSite({ seed: 7, zone: ZONE, ahead: NOON - sunday });
    for (const id of ["eda", "cae", "media"]) {
      const then = site.reading(server(id), NOON);
      const now = moved.reading(server(id), sunday);
      const usedOf = (reading: Reading) => reading.features.map(({ name, used }) => [name, used]);
      expect(usedOf(now)).toEqual(usedOf(then));
      for (const [key, { startedAt }] of checkoutsOf(now))
        expect(startedAt).toBe((checkoutsOf(then).get(key)?.startedAt ?? 0) + sunday - NOON);
    }
  });

  test.each(["eda", "plm", "media", "embedded", "styling"])("work by day: %s", (id) => {
    const day =
      [10, 11, 14, 15].reduce((total, hour) => total + usedAt(id, NOON + (hour - 12) * HOUR_MS), 0) / 4;
    const night = [3, 4, 5].reduce((total, hour) => total + usedAt(id, NOON + (hour - 12) * HOUR_MS), 0) / 3;
    const sunday = usedAt(id, NOON + 4 * DAY_MS);
    expect(day).toBeGreaterThan(8);
    expect(night).toBeLessThan(day / 2);
    expect(sunday).toBeLessThan(day / 2);
  });

  test("jobs hold several seats into the night", () => {
    const { checkouts } = feature(site.reading(server("cae"), NOON + 11 * HOUR_MS), "fea_tokens");
    expect(checkouts.some(({ count, host }) => count > 4 && host?.startsWith("cn-"))).toBe(true);
  });

  test("some hold seats for days, and some have borrowed them", () => {
    const held = SERVERS.flatMap((spec) => [...checkoutsOf(site.reading(spec, NOON)).values()]);
    expect(held.some(({ startedAt }) => (startedAt ?? NOON) < NOON - 2 * DAY_MS)).toBe(true);
    expect(held.some(({ borrowed, lingerSeconds }) => borrowed && (lingerSeconds ?? 0) > 0)).toBe(true);
  });
});

describe("each server", () => {
  test("eda: seats run out and people wait, on every working day of three weeks", () => {
    for (let week = 0; week < 3; week++) {
      for (let day = -2; day <= 2; day++) {
        const waits = server("eda").features.flatMap((spec) => {
          const midnight = NOON - 12 * HOUR_MS + (7 * week + day) * DAY_MS;
          const { waits } = site.schedule(server("eda"), spec, midnight + 12 * HOUR_MS);
          return waits.filter(({ from }) => from > midnight && from < midnight + DAY_MS);
        });
        expect(waits.length).toBeGreaterThan(0);
      }
    }
  });

  test("eda: users in the queue find no seat, and reserved seats are kept", () => {
    let waiting = 0;
    for (let minute = 0; minute < 600; minute += 5) {
      const reading = site.reading(server("eda"), NOON - 4 * HOUR_MS + minute * MINUTE_MS);
      for (const { queue, total, used, pools } of reading.features) {
        if (queue.length === 0 || pools.length > 1) continue;
        waiting++;
        expect((total ?? 0) - (used ?? 0)).toBeLessThan(Math.min(...queue.map(({ count }) => count)));
      }
    }
    expect(waiting).toBeGreaterThan(10);
    expect(feature(site.reading(server("eda"), NOON - 8 * HOUR_MS), "RF_Option").reservations).toEqual([
      { type: "group", name: "analog", count: 1, pool: 0 },
    ]);
  });

  test("cae, plm, embedded: a member down, features of equal names, uncounted ones", () => {
    const { members, features } = site.reading(server("cae"), NOON);
    const states = members.map(({ status, master, error }) => [status, master, error?.major ?? null]);
    expect(states).toEqual([
      ["up", false, null],
      ["up", true, null],
      ["down", false, -15],
    ]);
    expect(features.length).toBeGreaterThan(0);
    const viewers = site.reading(server("plm"), NOON).features.filter(({ name }) => name === "viewer");
    expect(viewers.map(({ daemon }) => daemon)).toEqual(["drawlmd", "vaultlmd"]);
    expect(viewers[0]?.total).not.toBe(viewers[1]?.total);
    const uncounted = feature(site.reading(server("embedded"), NOON), "cc_host_any");
    const none = { total: null, used: null, unlimited: true, pools: [{ kind: "uncounted" }] };
    expect(uncounted).toMatchObject(none);
  });

  test("media: two ISVs, pools of one product, and totals that only grow between two starts", () => {
    const reading = site.reading(server("media"), NOON);
    expect(reading.daemons.map(({ name }) => name)).toEqual(["lumenisv", "paintisv"]);
    expect(feature(reading, "lumen_render").pools.map(({ number }) => number)).toEqual(["1", "2"]);
    const { startsAt: started } = weekAt(CLOCK, NOON);
    let last = { checkouts: 0, denials: 0 };
    for (let hour = 0; hour < 7 * 24; hour += 3) {
      const { totals } = site.reading(server("media"), started + hour * HOUR_MS).daemons[0] ?? {};
      expect(totals?.checkouts ?? -1).toBeGreaterThanOrEqual(last.checkouts);
      expect(totals?.denials ?? -1).toBeGreaterThanOrEqual(last.denials);
      last = { checkouts: totals?.checkouts ?? 0, denials: totals?.denials ?? 0 };
    }
    expect(last.denials).toBeGreaterThan(5);
    expect(last.checkouts).toBeGreaterThan(last.denials);
  });

  test("styling: named seats and tokens", () => {
    const morning = site.reading(server("styling"), NOON - HOUR_MS);
    const named = feature(morning, "FSX");
    expect(named.assigned).toHaveLength(34);
    expect(named.used).toBeGreaterThan(4);
    expect(named.used).toBeLessThan(34);
    const owners = new Set(named.assigned?.map(({ user }) => user));
    for (const { user, startedAt } of named.checkouts) {
      expect(owners.has(user ?? "")).toBe(true);
      const since = named.assigned?.find((one) => one.user === user)?.since ?? Infinity;
      expect(since).toBeLessThan(startedAt ?? 0);
    }
    // They are the same people a month later.
    const later = feature(site.reading(server("styling"), NOON + 28 * DAY_MS), "FSX").assigned;
    expect(later?.map(({ user }) => user)).toEqual(named.assigned?.map(({ user }) => user));
    const tokens = feature(site.reading(server("styling"), NOON + 10 * HOUR_MS), "FEX");
    expect(tokens).toMatchObject({ unit: "tokens", used: sum(tokens.checkouts) });
    expect(Math.max(...tokens.checkouts.map(({ count }) => count))).toBeGreaterThan(50);
  });

  test("impact: programs share one set of seats, and never hold more than it has", () => {
    let full = 0;
    for (let hour = 0; hour < 7 * 24; hour++) {
      const { features } = site.reading(server("impact"), NOON + hour * HOUR_MS);
      const used = features.reduce((all, one) => all + (one.used ?? 0), 0);
      expect(used).toBeLessThanOrEqual(500);
      full = Math.max(full, used);
      for (const one of features) expect(one).toMatchObject({ seatGroup: "lsdyna", total: 500 });
      expect(features.reduce((all, one) => all + sum(one.checkouts), 0)).toBe(used);
    }
    expect(full).toBeGreaterThan(350);
  });

  test("optim: tokens of LM-X, many for one program", () => {
    const units = feature(site.reading(server("optim"), NOON), "VortexUnits");
    expect(units).toMatchObject({ unit: "tokens", total: 240, pools: [{ kind: "token" }] });
    expect(units.checkouts.length).toBeGreaterThan(0);
    for (const { count, display } of units.checkouts) {
      expect(count).toBeGreaterThanOrEqual(15);
      expect(display).toMatch(/^10\.23\./);
    }
  });

  test.each([1, 7, 99])("remote: silent for exactly ten minutes of every hour (seed %d)", (seed) => {
    const bad = createSite({ seed, zone: ZONE });
    for (const hour of [0, 9, 30]) {
      const silent: number[] = [];
      for (let minute = 0; minute < 60; minute++) {
        const reading = bad.reading(server("remote"), NOON + hour * HOUR_MS + minute * MINUTE_MS + 30_000);
        if (reading.errors.length > 0) silent.push(minute);
        expect(reading.features.length === 0).toBe(reading.errors.length > 0);
      }
      expect(silent).toHaveLength(10);
      expect((silent[9] ?? 0) - (silent[0] ?? 0)).toBe(9);
    }
    const others = SERVERS.filter(({ id }) => id !== "remote");
    expect(others.some((spec) => isSilent(seed, spec, NOON + 5 * MINUTE_MS))).toBe(false);
  });

  test("at any time something expires within 30 days, something has expired, something never does", () => {
    fc.assert(
      fc.property(instants, (instant) => {
        const pools = SERVERS.flatMap((spec) =>
          site.reading(spec, instant).features.flatMap((one) => one.pools),
        );
        const days = pools.map(({ expiry }) => ((expiry.expiresAt ?? Infinity) - instant) / DAY_MS);
        expect(days.some((left) => left > 0 && left <= 30)).toBe(true);
        expect(days.some((left) => left < 0)).toBe(true);
        expect(days.some((left) => left > 365 && left < 1000)).toBe(true);
        expect(pools.some(({ expiry }) => expiry.permanent)).toBe(true);
      }),
      { numRuns: 30 },
    );
  });
});
