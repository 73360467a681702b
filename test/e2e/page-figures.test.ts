/** Every figure of every page equals the API's. Servers are polled once, so that nothing changes. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import type { AlertRecord } from "../../src/domain/alerts.ts";
import type { DenialRecord } from "../../src/domain/denials.ts";
import type { StatsRecord, UsageRecord } from "../../src/domain/history-records.ts";
import type { AvailabilityRecord } from "../../src/domain/outages.ts";
import type {
  ExpirationRecord,
  FeatureRecord,
  ServerRecord,
  SummaryRecord,
  UserRecord,
} from "../../src/domain/records.ts";
import { day, withDays } from "../../src/page/format.ts";
import { unlessSeats } from "../../src/page/words.ts";
import { type Browser, HAS_BROWSER, startBrowser } from "./browser.ts";
import { SLOW } from "./harness.ts";
import {
  type Figures,
  n,
  percent,
  pick,
  plural,
  readFigures,
  seatsLost,
  sum,
  time,
  UNKNOWN,
} from "./page-figures.ts";
import { checkPast } from "./page-figures-past.ts";
import { isLive, listenTo, startDemo } from "./page-rig.ts";

/** The page omits a count of zero waiting users, which depends on the simulated hour. */
const whoWait = (count: number | null) => (count ? `, ${n(count)} waiting` : "");

describe.skipIf(!SLOW || !HAS_BROWSER)("the figures of", () => {
  let demo: Awaited<ReturnType<typeof startDemo>>;
  let browser: Browser;
  let page: Page;
  let figures: Figures;
  let heard: string[];
  beforeAll(async () => {
    demo = await startDemo("--interval", "1h");
    browser = await startBrowser({ keepPolicy: true });
    page = await browser.open(`${demo.url}/signin${demo.code}`);
    await isLive(page);
    heard = await listenTo(page, demo.url);
    figures = await readFigures(page, demo);
  });
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]();
    await demo?.[Symbol.asyncDispose]();
  });

  test("the overview", async () => {
    const { ask, heardOf, listed, show, texts } = figures;
    await show("");
    const { seats, users, queued, alerts } = await ask<SummaryRecord>("summary");
    const { denials } = await heardOf<{ denials: DenialRecord[] }>("denials");
    const denied = denials.filter(({ outcome }) => outcome === "denied");
    const countOf = (of: readonly DenialRecord[]) =>
      sum(of.map(({ feature, count }) => (feature === null ? count : 1)));
    expect(await texts("dl dd")).toEqual([
      `${n(seats.used)} of ${n(seats.total)}`,
      n(users),
      n(queued),
      n(countOf(denied)),
    ]);
    expect(await texts('nav a[href$="alerts"]')).toContain(`Alerts ${sum(Object.values(alerts))} firing`);
    const { servers } = await ask<{ servers: ServerRecord[] }>("servers");
    for (const [at, tile] of (await texts('ul[aria-label="Servers"] li')).entries()) {
      const { id, counts } = servers[at] as ServerRecord;
      expect([tile, tile.includes(id), tile.endsWith(`${n(counts.used)} of ${n(counts.total)}`)]).toEqual([
        tile,
        true,
        true,
      ]);
    }
    const { features } = await ask<{ features: FeatureRecord[] }>("features");
    const tight = features.filter(
      ({ available, total, utilization }) => total !== null && (available === 0 || (utilization ?? 0) >= 90),
    );
    expect(
      (await listed("Full or nearly full")).map((line) => line.replace(/ (\+|\d+ reserved).*/, "")).sort(),
    ).toEqual(
      tight.map(({ name, server, used, total }) => `${name} ${server} ${n(used)}/${n(total)}`).sort(),
    );
    const { users: holders } = await ask<{ users: UserRecord[] }>("users?kind=checkout&limit=1000");
    const longest = holders.sort((a, b) => (b.durationSeconds ?? 0) - (a.durationSeconds ?? 0));
    expect(await page.getByRole("link", { name: `All ${n(holders.length)}`, exact: true }).count()).toBe(1);
    for (const [at, line] of (await listed("Longest held")).entries())
      expect(line).toStartWith(`${longest[at]?.user} ${longest[at]?.feature} `);
    const byFeature = Map.groupBy(denied, ({ feature, daemon }) => feature ?? daemon);
    for (const line of await listed("Denied today")) {
      const [name = ""] = line.split(/[ ,]/);
      expect(line).toEndWith(` ${n(countOf(byFeature.get(name) ?? []))}`);
    }
    expect(await listed("Expiring")).toEqual(await expiring());
  });

  /** Returns the days on which licenses expire, as lines of the page. */
  async function expiring(): Promise<string[]> {
    const { expirations } = await figures.ask<{ expirations: ExpirationRecord[] }>(
      "expirations?days=180&limit=1000",
    );
    return [...Map.groupBy(expirations, ({ expiresOn }) => expiresOn ?? "")].map(([on, of]) => {
      const [{ feature, daysLeft = 0 } = {} as Partial<ExpirationRecord>] = of;
      const features = new Set(of.map((row) => JSON.stringify([row.server, row.daemon, row.feature]))).size;
      const what =
        features === 1 ? feature : `${plural(features, "feature")}, ${plural(seatsLost(of), "seat")}`;
      return `${day(on, Date.now())} ${what} ${(daysLeft ?? 0) < 0 ? "expired" : `in ${daysLeft} d`}`;
    });
  }

  test("the features page, and the page of one feature", async () => {
    const { ask, heardOf, rows, show, texts } = figures;
    await show("features");
    const { features } = await ask<{ features: FeatureRecord[] }>("features");
    const names = new URLSearchParams(features.map(({ name }) => ["feature", name] as [string, string]));
    const stats = await ask<{ features: StatsRecord[] }>(`stats?${names}`);
    const statsOf = ({ server, daemon, name }: FeatureRecord) =>
      stats.features.find((row) => row.server === server && row.daemon === daemon && row.feature === name);
    const shown = pick(
      await rows("Features"),
      "Server",
      "Daemon",
      "Feature",
      "In use",
      "Free",
      "Peak 24 h",
      "Denied 24 h",
      "Expires",
    );
    const expected = features.map((feature) => {
      const { server, daemon, name, unit, total, used, available, unlimited, permanent, expiresOn } = feature;
      const past = statsOf(feature);
      return [
        ...[server, daemon, `${name}${unlessSeats(unit)}`],
        total === null || used === null ? n(used) : `${n(used)}/${n(total)}`,
        unlimited ? "no limit" : n(available),
        `${past !== undefined && past.peakUsed !== null && past.coverage < 0.9 ? "≥ " : ""}${n(past?.peakUsed ?? null)}`,
        n(past?.denials ?? null),
        permanent ? "permanent" : expiresOn === null ? UNKNOWN : day(expiresOn, Date.now()),
      ];
    });
    expect(shown.sort()).toEqual(expected.sort());
    const count = (is: (feature: FeatureRecord) => boolean) => n(features.filter(is).length);
    const soon = Date.now() + 30 * 86_400_000;
    const chips = [
      `All ${n(features.length)}`,
      `Full ${count(({ available, total }) => available === 0 && total !== 0)}`,
      `Waiting ${count(({ queued }) => (queued ?? 0) > 0)}`,
      `Expiring ${count(({ expiresAt }) => expiresAt !== null && Date.parse(expiresAt) < soon)}`,
      `Stale ${count(({ state }) => state === "stale")}`,
      `Partial ${count(({ state }) => state === "partial")}`,
    ];
    expect(await texts('[aria-label="Filters"] button')).toEqual(expect.arrayContaining(chips));

    const { users } = await ask<{ users: UserRecord[] }>("users?limit=1000");
    // Features that are full with a queue, reserved, uncounted, expired, of a failing server, and of a manager that counts
    // denials.
    const kinds = [
      "Schema_Editor",
      "LogicSim_Core",
      "cc_host_any",
      "Power_Analyzer",
      "board_layout",
      "lumen_render",
    ];
    for (const feature of features.filter(({ name }) => kinds.includes(name))) {
      const { server, daemon, name, total, used, available, queued, reserved, unlimited } = feature;
      await show(`feature?${new URLSearchParams({ server, daemon, name })}`);
      const past = (await heardOf<{ features: StatsRecord[] }>("stats")).features[0];
      const head = await texts('section[aria-label="Seats in use"]');
      const of = users.filter(
        (row) => row.server === server && row.daemon === daemon && row.feature === name,
      );
      const held = of.filter(({ kind }) => kind === "checkout");
      const facts = [
        unlimited ? "no limit" : `${n(available)} free`,
        ...(used === null
          ? []
          : [unlimited ? `${n(used)} in use, no limit` : `${n(used)} of ${n(total)} in use`]),
        ...((queued ?? 0) > 0 ? [`${n(queued)} waiting`] : []),
        ...((reserved ?? 0) > 0 ? [`${n(reserved)} reserved`] : []),
      ];
      expect([name, facts.filter((fact) => !head[0]?.includes(fact))]).toEqual([name, []]);
      if (held.length > 0) {
        const lines = pick(await rows("Who has it"), "User", "Host", "Seats");
        expect(lines.sort()).toEqual(
          held.map(({ user, host, count }) => [user, host, n(count)] as string[]).sort(),
        );
      }
      if (!unlimited && past !== undefined)
        expect([name, ...(await texts("dl.figures dd"))]).toEqual([
          ...[name, n(past.peakUsed), n(past.p95Used)],
          n(past.averageUsed === null ? null : Math.round(10 * past.averageUsed) / 10),
          ...[time(past.saturatedSeconds), n(past.sessions), n(past.uniqueUsers), n(past.denials)],
        ]);
    }
  });

  test("people", async () => {
    const { ask, heardOf, rows, show, texts } = figures;
    const { users } = await ask<{ users: UserRecord[] }>("users?limit=1000");
    const held = users.filter(({ kind }) => kind === "checkout");
    const waiting = users.filter(({ kind }) => kind === "queued");
    const people = (of: readonly UserRecord[]) => new Set(of.map(({ user }) => user)).size;
    const { features } = await ask<{ features: FeatureRecord[] }>("features");
    const unitOf = ({ server, daemon, feature }: UserRecord) =>
      features.find((one) => one.server === server && one.daemon === daemon && one.name === feature)?.unit ??
      "seats";
    const seatsIn = (of: readonly UserRecord[]) =>
      sum(of.filter((row) => unitOf(row) === "seats").map(({ count }) => count));
    await show("people");
    expect(await texts("#main [role=status]")).toContain(
      `${n(people(held))} people, ${plural(seatsIn(held), "seat")}${whoWait(waiting.length)}`,
    );
    const shown = pick(await rows("People"), "User", "Host", "Feature", "Server", "Seats");
    expect(shown.sort()).toEqual(
      [...held, ...waiting]
        .map((row) => {
          const { user, host, feature, server, count } = row;
          return [user, host, `${feature}${unlessSeats(unitOf(row))}`, server, n(count)] as string[];
        })
        .sort(),
    );
    await show("people?group=user");
    const groups = [...Map.groupBy([...held, ...waiting], ({ user }) => user)].map(([user, of]) => {
      const seats = (kind: string) => n(seatsIn(of.filter((row) => row.kind === kind)));
      return [user, seats("checkout"), seats("queued")] as string[];
    });
    expect(pick(await rows("By user"), "User", "Seats", "Waits").sort()).toEqual(groups.sort());
    const [first] = held;
    await show(`person?${new URLSearchParams({ user: first?.user ?? "" })}`);
    const now = pick(await rows("People"), "Feature", "Seats");
    const { groups: used } = await heardOf<{ groups: UsageRecord[] }>("usage");
    expect(now.length).toBe(users.filter(({ user }) => user === first?.user).length);
    expect((await texts("#main")).join()).toContain(n(Math.round(used[0]?.heldSeatHours ?? -1)));
  });

  test("servers, alerts and the wall", async () => {
    const { ask, heardOf, rows, show, texts } = figures;
    const { servers } = await ask<{ servers: ServerRecord[] }>("servers");
    const of = ({ counts: { used, total } }: ServerRecord, word: string) => `${n(used)}${word}${n(total)}`;
    const up = ({ members }: ServerRecord) => members.filter(({ status }) => status === "up").length;
    await show("servers");
    const shown = pick(
      await rows("Servers"),
      "Server",
      "Manager",
      "Members",
      "Features",
      "Seats in use",
      "Unparsed lines",
    );
    const lines = servers.map((server) => [
      ...[`${server.id} ${server.name}`, server.manager, `${up(server)} of ${server.members.length}`],
      ...[n(server.counts.features), of(server, "/"), n(server.unparsedLines)],
    ]);
    expect(shown.sort()).toEqual(lines.sort());
    for (const server of servers.slice(1, 4)) {
      await show(`server?id=${server.id}`);
      const { servers: known } = await heardOf<{ servers: AvailabilityRecord[] }>("outages");
      const text = (await texts("#main")).join();
      const { availability = null, coverage = 0 } = known[0] ?? {};
      const says = [
        `${of(server, " of ")} seats in use`,
        `${availability} % available, ${percent(100 * coverage)}`,
        `Features ${n(server.counts.features)}`,
      ];
      expect([server.id, says.filter((each) => !text.includes(each))]).toEqual([server.id, []]);
    }
    const { alerts } = await ask<{ alerts: AlertRecord[] }>("alerts?state=firing&limit=1000");
    await show("alerts");
    expect(await texts("#main [role=status]")).toContain(plural(alerts.length, "alert"));
    const main = (await texts("#main")).join();
    expect(alerts.filter(({ message }) => !main.includes(withDays(message, Date.now())))).toEqual([]);
    await show("wall?rows=4");
    const { seats, queued } = await ask<SummaryRecord>("summary");
    const { features } = await ask<{ features: FeatureRecord[] }>("features");
    for (const server of servers) {
      const [tile = ""] = await texts(`.tile[href$=${JSON.stringify(`?id=${server.id}`)}]`);
      expect([server.id, tile, tile.includes(of(server, " of "))]).toEqual([server.id, tile, true]);
      const rowsOf = tile.matchAll(/(\S+)(?: tokens)?(?: \+(\d+) waiting)? (\d+)\/(\d+) (\d+) free/g);
      for (const [, name, waits = "0", ...counts] of rowsOf)
        expect(
          features
            // If two daemons have the feature, the daemon's name is shown last.
            .filter((row) => row.server === server.id && [row.name, row.daemon].includes(name ?? ""))
            .map((feature) => [
              n(feature.queued ?? 0),
              n(feature.used),
              n(feature.total),
              n(feature.available),
            ]),
        ).toContainEqual([waits, ...counts]);
    }
    const [foot = ""] = await texts("footer");
    const next = (await expiring())
      .find((line) => !line.endsWith("expired"))
      ?.replace(/^(\d+ \w+) (.*) in \d+ d$/, "$1: $2");
    expect(foot).toContain(
      `${n(seats.used)} of ${n(seats.total)} seats in use${whoWait(queued)}. Next expiry ${next}`,
    );
  });

  test("pages of the past", async () => {
    await checkPast(figures);
    expect(heard).toEqual([]);
  });
});
