import { expect, test } from "bun:test";
import type { SiteRecord } from "../../src/domain/service/sites.ts";
import { DAY_MS } from "../../src/domain/time/clock.ts";
import { picture } from "../http/make.ts";
import { describeHub } from "./describe-hub.ts";
import { pictureStates } from "./pictures.ts";
import { madeUpFacts } from "./rig.ts";

const NOW = Date.now();
const TODAY = Math.floor(NOW / DAY_MS);

describeHub("data that a hub cannot store", {}, (at) => {
  const { hub } = at;
  const refusedFacts = async (site: string) =>
    (await hub.json<SiteRecord>(`/api/fleet/sites/${site}`)).refusedFacts;

  const FACTS = madeUpFacts(1, 3, NOW);
  /** Text that is too long for an index row, even when compressed. */
  const LONG = crypto.getRandomValues(new Uint8Array(6_000)).toHex();
  const OF = { server: "s1", daemon: "siliqd", feature: "F1" };
  const coverage = { server: "s1", from: NOW, readAt: NOW, until: NOW, running: true, looks: 1 };
  const stretch = {
    server: "s1",
    from: NOW,
    status: "up",
    reason: null,
    readAt: NOW,
    until: NOW,
    nextBy: NOW,
  };
  const day = (more: object) => ({ days: [{ table: "samples", day: TODAY, part: 0, rows: [], ...more }] });
  const site = {
    kind: "site",
    ...{ version: "0.2.0", timezone: "UTC", labels: {}, formerly: null, people: "names", allow: [] },
    ...{ notify: "site", logs: false, servers: ["s1"] },
  };
  const firing = { kind: "alerts", firing: [{ ...madeUpAlert(), id: 1e19 }] };
  const whole = pictureStates([picture("eda")]).find(({ kind }) => kind === "picture") ?? {};

  function madeUpAlert() {
    const at = new Date(NOW).toISOString();
    return {
      ...{
        rule: "seats",
        severity: "warning",
        state: "firing",
        ...OF,
        message: "full",
        value: 1,
        threshold: 1,
      },
      ...{ peakValue: 1, startedAt: at, firedAt: at, resolvedAt: null, acknowledged: false },
      ...{ acknowledgedAt: null, acknowledgedBy: null, comment: null, silencedUntil: null },
    };
  }

  const CASES: [string, object][] = [
    ["the name of a user that no index takes", { facts: [FACTS[0], { ...FACTS[1], user: LONG }, FACTS[2]] }],
    [
      "the name of a feature that no index takes",
      { facts: [FACTS[0], FACTS[1], { ...FACTS[2], feature: LONG }] },
    ],
    ["a time outside the range of Date", { facts: [{ ...FACTS[0], firstSeenAt: 9e15 }, FACTS[1], FACTS[2]] }],
    [
      "a negative time outside the range of Date",
      { facts: [FACTS[0], FACTS[1], { ...FACTS[2], at: -9e15 }] },
    ],
    ["a count of no 64 bits", { facts: [FACTS[0], FACTS[1], { ...FACTS[2], used: 1e300 }] }],
    ["a day of no 32 bits", day({ day: 2 ** 31, rows: [{ ...OF, data: "" }] })],
    ["a day before all days", day({ day: -2 })],
    ["a day with a part of no number", day({ part: -1 })],
    ["a day with a name that no index takes", day({ rows: [{ ...OF, feature: LONG, data: "" }] })],
    ["a day with one row twice", day({ rows: [1, 2].map(() => ({ ...OF, data: "" })) })],
    ["a day with one coverage twice", day({ table: "coverage", rows: [coverage, coverage] })],
    ["a day with one stretch twice", day({ table: "statuses", rows: [stretch, stretch] })],
    ["a state with a server whose name no index takes", { states: [{ ...site, servers: ["s1", LONG] }] }],
    ["a state without its fields", { states: [{ kind: "site" }] }],
    ["firing alerts with an id of no 64 bits", { states: [firing] }],
    [
      "firing alerts with one alert twice",
      { states: [{ ...firing, firing: [1, 2].map(() => ({ ...madeUpAlert(), id: 7 })) }] },
    ],
    [
      "a picture without its expiries",
      { states: [{ ...whole, features: [{ daemon: "d", name: "f", checkouts: [], pools: [{ id: "1" }] }] }] },
    ],
    [
      "a picture with one feature twice",
      { states: [{ ...whole, features: [1, 2].flatMap(() => (whole as { features: object[] }).features) }] },
    ],
  ];
  test.each(CASES.map(([what, more], n) => [what, more, `case${n}`] as const))(
    "%s is set aside and reported, and the rest is stored",
    async (_, more, name) => {
      const muc = await at.site(name);
      const first = await muc.pushes({ to: 3, facts: FACTS, ...more } as never);
      expect(first.cursor).toBe(3);
      expect(await refusedFacts(name)).toBe(1);
      // The next push has valid facts and states.
      const next = { facts: [{ ...FACTS[2], seq: 4, at: NOW + 60_000 }], states: [site, whole] };
      await muc.pushes({ from: 4, to: 4, ...next } as never);
      expect(await refusedFacts(name)).toBe(1);
      const [stored] = await at.pool`
        SELECT (SELECT count(*)::int FROM steps s WHERE s.site = ${name}) AS steps,
          (SELECT count(*)::int FROM current_features f WHERE f.site = ${name}) AS features`;
      expect(stored.steps).toBeGreaterThan(0);
      expect(stored.features).toBe(2);
    },
  );

  test("a server listed twice in a state is one server", async () => {
    const muc = await at.site("twice");
    await muc.pushes({ states: [{ ...site, servers: ["s1", "s2", "s1"] }] } as never);
    const rows = await at.pool`SELECT server, place FROM servers WHERE site = 'twice' ORDER BY place`;
    expect(rows.map(({ server, place }: { server: string; place: number }) => [server, place])).toEqual([
      ["s1", 0],
      ["s2", 1],
    ]);
    expect(await refusedFacts("twice")).toBe(0);
  });

  test("rows of a rejected day are removed", async () => {
    const muc = await at.site("days");
    const good = day({ rows: [{ ...OF, data: "AA==" }] });
    await muc.pushes(good as never);
    const rows = async () =>
      (await at.pool`SELECT count(*)::int AS n FROM packed_days WHERE site = 'days'`)[0].n as number;
    expect(await rows()).toBe(1);
    await muc.pushes(day({ rows: [{ ...OF, feature: LONG, data: "" }] }) as never);
    expect(await rows()).toBe(0);
  });

  test("a repeated bad state is reported once, by name", async () => {
    const muc = await at.site("again");
    const bad = { ...whole, features: [1, 2].flatMap(() => (whole as { features: object[] }).features) };
    for (let n = 0; n < 3; n++) await muc.pushes({ states: [bad] } as never);
    expect(await refusedFacts("again")).toBe(1);
    const [row] = await at.pool`SELECT body FROM refused WHERE site = 'again'`;
    expect(JSON.parse(row.body.toString())).toEqual({ state: "picture", server: "eda" });
  });
});
