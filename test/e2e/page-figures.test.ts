/** Every figure of every page equals the API's. Servers are polled once, so that nothing changes. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { DenialRecord } from "../../src/domain/denials.ts";
import type { FeatureRecord, ServerRecord, UserRecord } from "../../src/domain/records.ts";
import { day, plural, withDays } from "../../src/page/format.ts";
import { unlessSeats } from "../../src/page/words.ts";
import { HAS_BROWSER } from "./browser.ts";
import { SLOW } from "./harness.ts";
import { expiring, n, named, percent, readFigures, sum, time, UNKNOWN } from "./page-figures.ts";
import { listenTo, showDemo } from "./page-rig.ts";

/** Returns the number of requests. A row without names counts as `count` requests, any other row as one. */
const whoWait = (count: number | null) => (count ? `, ${n(count)} waiting` : "");
const idOf = (row: { server: string; daemon: string; feature: string | null }) =>
  JSON.stringify([row.server, row.daemon, row.feature]);
/** A row without names counts requests. */
const requests = (of: readonly DenialRecord[]) =>
  sum(of.map(({ feature, count }) => (feature === null ? count : 1)));

describe.skipIf(!SLOW || !HAS_BROWSER)("the figures of", () => {
  let demo: Awaited<ReturnType<typeof showDemo>>;
  let figures: Awaited<ReturnType<typeof readFigures>>;
  let heard: string[];
  beforeAll(async () => {
    demo = await showDemo("--interval", "1h");
    heard = await listenTo(demo.page, demo.demo.url);
    figures = await readFigures(demo.page, demo.demo);
  });
  afterAll(() => demo?.[Symbol.asyncDispose]());

  test("the overview", async () => {
    const { ask, heardOf, listed, show, texts } = figures;
    await show("");
    const { seats, users, queued, alerts } = await ask("/api/licenses/summary", "");
    const denied = (await heardOf("/api/licenses/denials")).denials.filter(
      ({ outcome }) => outcome === "denied",
    );
    expect(await texts("dl dd")).toEqual([
      `${n(seats.used)} of ${n(seats.total)}`,
      n(users),
      n(queued),
      n(requests(denied)),
    ]);
    expect(await texts('nav a[href$="alerts"]')).toContain(`Alerts ${sum(Object.values(alerts))} firing`);
    const { servers } = await demo.demo.json<{ servers: ServerRecord[] }>(
      "/api/licenses/servers",
      demo.demo.key,
    );
    for (const [at, tile] of (await texts('ul[aria-label="Servers"] li')).entries()) {
      const { id = "", counts } = servers[at] ?? {};
      expect(tile).toContain(id);
      expect(tile).toEndWith(`${n(counts?.used)} of ${n(counts?.total)}`);
    }
    const { features } = await ask("/api/licenses/features");
    const tight = features.filter(
      ({ available, total, utilization }) => total !== null && (available === 0 || (utilization ?? 0) >= 90),
    );
    expect(
      (await listed("Full or nearly full")).map((line) => line.replace(/ (\+|\d+ reserved).*/, "")).sort(),
    ).toEqual(
      tight.map(({ name, server, used, total }) => `${name} ${server} ${n(used)}/${n(total)}`).sort(),
    );
    const { users: holders } = await ask("/api/licenses/users", "kind=checkout&limit=1000");
    const longest = holders.toSorted((a, b) => (b.durationSeconds ?? 0) - (a.durationSeconds ?? 0));
    expect(await texts("section a.more")).toContain(`All ${n(holders.length)}`);
    for (const [at, line] of (await listed("Longest held")).entries())
      expect(line).toStartWith(`${longest[at]?.user} ${longest[at]?.feature} `);
    const byFeature = Map.groupBy(denied, ({ feature, daemon }) => feature ?? daemon);
    for (const line of await listed("Denied today"))
      expect(line).toEndWith(` ${n(requests(byFeature.get(line.split(/[ ,]/)[0] ?? "") ?? []))}`);
    expect(await listed("Expiring")).toEqual(await daysOfExpiry());
  });

  /** Returns the days on which licenses expire, as lines of the page. */
  async function daysOfExpiry(): Promise<string[]> {
    const { expirations } = await figures.ask("/api/licenses/expirations", "days=180&limit=1000");
    return [...Map.groupBy(expirations, ({ expiresOn }) => expiresOn ?? "")].map(([on, of]) => {
      const left = of[0]?.daysLeft ?? 0;
      const what = new Set(of.map(idOf)).size === 1 ? of[0]?.feature : expiring(of);
      return `${day(on, Date.now())} ${what} ${left < 0 ? "expired" : `in ${left} d`}`;
    });
  }

  test("the features page, and the page of one feature", async () => {
    const { ask, heardOf, rows, show, texts } = figures;
    await show("features");
    const { features } = await ask("/api/licenses/features");
    const names = new URLSearchParams(features.map(({ name }) => ["feature", name] as [string, string]));
    const stats = new Map(
      (await ask("/api/licenses/stats", `${names}`)).features.map((row) => [idOf(row), row]),
    );
    const columns = ["Server", "Daemon", "Feature", "In use", "Free", "Peak 24 h", "Denied 24 h", "Expires"];
    const expected = features.map((row) => {
      const { server, daemon, name, total, used, unlimited, permanent, expiresOn } = row;
      const past = stats.get(idOf({ ...row, feature: name }));
      const isPart = past !== undefined && past.peakUsed !== null && past.coverage < 0.9;
      return [
        ...[server, daemon, `${name}${unlessSeats(row.unit)}`],
        total === null || used === null ? n(used) : `${n(used)}/${n(total)}`,
        unlimited ? "no limit" : n(row.available),
        `${isPart ? "≥ " : ""}${n(past?.peakUsed)}`,
        n(past?.denials),
        permanent ? "permanent" : expiresOn === null ? UNKNOWN : day(expiresOn, Date.now()),
      ];
    });
    expect((await rows("Features", ...columns)).sort()).toEqual(expected.sort());
    const soon = Date.now() + 30 * 86_400_000;
    const states: Readonly<Record<string, (feature: FeatureRecord) => boolean>> = {
      All: () => true,
      Full: ({ available, total }) => available === 0 && total !== 0,
      Waiting: ({ queued }) => (queued ?? 0) > 0,
      Expiring: ({ expiresAt }) => expiresAt !== null && Date.parse(expiresAt) < soon,
      Stale: ({ state }) => state === "stale",
      Partial: ({ state }) => state === "partial",
    };
    expect(await texts('[aria-label="Filters"] button')).toEqual(
      expect.arrayContaining(
        Object.entries(states).map(([word, is]) => `${word} ${n(features.filter(is).length)}`),
      ),
    );

    const { users } = await ask("/api/licenses/users");
    const kinds: Readonly<Record<string, string>> = {
      Schema_Editor: "full, with a queue",
      LogicSim_Core: "reserved",
      cc_host_any: "uncounted",
      Power_Analyzer: "expired",
      board_layout: "of a failing server",
      lumen_render: "of a manager that counts denials",
    };
    for (const feature of features.filter(({ name }) => name in kinds)) {
      const { server, daemon, name, total, used, available, queued, reserved, unlimited } = feature;
      await show(`feature?${new URLSearchParams({ server, daemon, name })}`);
      const past = (await heardOf("/api/licenses/stats")).features[0];
      const [head] = await texts('section[aria-label="Seats in use"]');
      const held = users.filter(
        (row) => row.kind === "checkout" && idOf(row) === idOf({ ...feature, feature: name }),
      );
      const inUse = unlimited ? `${n(used)} in use, no limit` : `${n(used)} of ${n(total)} in use`;
      const facts = [
        unlimited ? "no limit" : `${n(available)} free`,
        ...(used === null ? [] : [inUse]),
        ...((queued ?? 0) > 0 ? [`${n(queued)} waiting`] : []),
        ...((reserved ?? 0) > 0 ? [`${n(reserved)} reserved`] : []),
      ];
      expect([name, facts.filter((fact) => !head?.includes(fact))]).toEqual([name, []]);
      if (held.length > 0)
        expect((await rows("Who has it", "User", "Host", "Seats")).sort()).toEqual(
          held.map(({ user, host, count }) => [user ?? "", host ?? "", n(count)]).sort(),
        );
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
    const { users } = await ask("/api/licenses/users");
    const [held, waiting] = ["checkout", "queued"].map((kind) =>
      users.filter((row) => row.kind === kind),
    ) as [UserRecord[], UserRecord[]];
    const units = new Map(
      (await ask("/api/licenses/features")).features.map((row) => [
        idOf({ ...row, feature: row.name }),
        row.unit,
      ]),
    );
    const unitOf = (row: UserRecord) => units.get(idOf(row)) ?? "seats";
    const seatsIn = (of: readonly UserRecord[]) =>
      sum(of.filter((row) => unitOf(row) === "seats").map(({ count }) => count));
    await show("people");
    const people = plural(new Set(held.map(({ user }) => user)).size, "person", "people");
    expect(await texts("#main [role=status]")).toContain(
      `${people}, ${plural(seatsIn(held), "seat")}${whoWait(waiting.length)}`,
    );
    expect((await rows("People", "User", "Host", "Feature", "Server", "Seats")).sort()).toEqual(
      [...held, ...waiting]
        .map((row) => [
          ...[row.user ?? "", row.host ?? "", `${row.feature}${unlessSeats(unitOf(row))}`],
          ...[row.server, n(row.count)],
        ])
        .sort(),
    );
    await show("people?group=user");
    const groups = [...Map.groupBy([...held, ...waiting], ({ user }) => user ?? "")].map(([user, of]) => [
      user,
      ...["checkout", "queued"].map((kind) => n(seatsIn(of.filter((row) => row.kind === kind)))),
    ]);
    expect((await rows("By user", "User", "Seats", "Waits")).sort()).toEqual(groups.sort());
    const user = held[0]?.user ?? "";
    await show(`person?${new URLSearchParams({ user })}`);
    const { groups: used } = await heardOf("/api/licenses/usage");
    expect(await rows("People")).toHaveLength(users.filter((row) => row.user === user).length);
    expect((await texts("#main")).join()).toContain(n(Math.round(used[0]?.heldSeatHours ?? -1)));
  });

  test("servers, alerts and the wall", async () => {
    const { ask, heardOf, rows, show, texts } = figures;
    const { servers } = await demo.demo.json<{ servers: ServerRecord[] }>(
      "/api/licenses/servers",
      demo.demo.key,
    );
    const of = ({ counts: { used, total } }: ServerRecord, word: string) => `${n(used)}${word}${n(total)}`;
    const up = ({ members }: ServerRecord) => members.filter(({ status }) => status === "up").length;
    await show("servers");
    const columns = ["Server", "Manager", "Members", "Features", "Seats in use", "Unparsed lines"];
    expect((await rows("Servers", ...columns)).sort()).toEqual(
      servers
        .map((server) => [
          ...[`${server.id} ${server.name}`, server.manager, `${up(server)} of ${server.members.length}`],
          ...[n(server.counts.features), of(server, "/"), n(server.unparsedLines)],
        ])
        .sort(),
    );
    for (const server of servers.slice(1, 4)) {
      await show(`server?id=${server.id}`);
      const [known] = (await heardOf("/api/licenses/outages")).servers;
      const text = (await texts("#main")).join();
      expect(text).toContain(`${of(server, " of ")} seats in use`);
      expect(text).toContain(`${known?.availability} % available, ${percent(100 * (known?.coverage ?? 0))}`);
      expect(text).toContain(`Features ${n(server.counts.features)}`);
    }
    const { alerts } = await ask("/api/licenses/alerts", "state=firing&limit=1000");
    await show("alerts");
    expect(await texts("#main [role=status]")).toContain(plural(alerts.length, "alert"));
    const main = (await texts("#main")).join();
    expect(alerts.filter(({ message }) => !main.includes(withDays(message, Date.now())))).toEqual([]);
    await show("wall?rows=4");
    const { features } = await ask("/api/licenses/features");
    for (const server of servers) {
      const [tile = ""] = await texts(`.tile[href$=${JSON.stringify(`?id=${server.id}`)}]`);
      expect(tile).toContain(of(server, " of "));
      const rowsOf = tile.matchAll(/(\S+)(?: tokens)?(?: \+(\d+) waiting)? (\d+)\/(\d+) (\d+) free/g);
      for (const [, name = "", waits = "0", ...counts] of rowsOf)
        expect(
          features
            // If two daemons have the feature, the daemon's name is shown last.
            .filter((row) => row.server === server.id && [row.name, row.daemon].includes(name))
            .map((row) => [row.queued ?? 0, row.used, row.total, row.available].map(n)),
        ).toContainEqual([waits, ...counts]);
    }
    const { seats, queued } = await ask("/api/licenses/summary", "");
    const next = (await daysOfExpiry())
      .find((line) => !line.endsWith("expired"))
      ?.replace(/^(\d+ \w+) (.*) in \d+ d$/, "$1: $2");
    expect((await texts("footer"))[0]).toContain(
      `${n(seats.used)} of ${n(seats.total)} seats in use${whoWait(queued)}. Next expiry ${next}`,
    );
  });

  const [start, end] = [20 * 60, 2].map((minutes) => new Date(Date.now() - minutes * 60_000).toISOString());
  const range = `range=${start}/${end}`;

  test.each([
    ["user", "Person"],
    ["server", "Server"],
  ] as const)("usage by %s", async (by, head) => {
    await figures.show(`history?${range}&group_by=${by}`);
    const { groups } = await figures.heardOf("/api/licenses/usage");
    expect(await figures.rows(`By ${by}`, head, "Seat-hours", "Peak", "Sessions")).toEqual(
      groups.map((row) => [
        row[by] ?? "",
        ...[Math.round(row.heldSeatHours), row.peakHeld, row.sessions].map(n),
      ]),
    );
  });

  test("efficiency, and the hours of the week", async () => {
    const { show, rows, heardOf, texts } = figures;
    await show(`history?report=efficiency&${range}`);
    const columns = ["Feature", "Seats", "Peak", "p95", "Average", "Full for", "People", "Denied", "Covered"];
    expect(await rows("Use of seats", ...columns)).toEqual(
      (await heardOf("/api/licenses/stats")).features.map((row) => [
        ...[named(row), n(row.total), n(row.peakUsed), n(row.p95Used), percent(row.averageUtilization)],
        ...[time(row.saturatedSeconds), n(row.uniqueUsers), n(row.denials), percent(100 * row.coverage)],
      ]),
    );
    expect(await rows("Effect of fewer seats", "Feature", "Seats", "Last seat busy")).toEqual(
      (await heardOf("/api/licenses/efficiency")).features.map((row) => {
        const last = row.total === null ? null : (row.seats.at(-1)?.busyPercent ?? null);
        return [named(row), n(row.total), percent(last)];
      }),
    );
    await show(`history?report=heatmap&${range}`);
    const hours = await texts("table td .vh");
    expect(hours.map((hour) => /peak ([\d,]+), .*?(\d+) %/.exec(hour)?.slice(1) ?? null)).toEqual(
      (await heardOf("/api/licenses/heatmap")).cells.map(({ peakUsed, averageUsed, coverage }) =>
        averageUsed === null ? null : [n(peakUsed), `${Math.floor(100 * coverage)}`],
      ),
    );
  });

  test("denials, outages and expiry", async () => {
    const { show, rows, heardOf, texts } = figures;
    await show(`denials?${range}`);
    const { denials } = await heardOf("/api/licenses/denials");
    const group = (key: (row: DenialRecord) => string) =>
      [...Map.groupBy(denials, key)].map(([name, of]) => [
        name,
        ...["denied", "queued", "granted_later"].map((outcome) =>
          n(requests(of.filter((row) => row.outcome === outcome))),
        ),
      ]);
    const counts = ["Denied", "Waited", "Granted later"];
    const byFeature = group((row) =>
      row.feature === null ? `${row.daemon}, counted without names ${row.server}` : named(row),
    );
    expect((await rows("By feature", "Feature", ...counts)).sort()).toEqual(byFeature.sort());
    const byPerson = group(({ user }) => user ?? "").filter(([user]) => user !== "");
    expect((await rows("By person", "Person", ...counts)).sort()).toEqual(byPerson.sort());

    await show(`outages?${range}`);
    const { servers, outages } = await heardOf("/api/licenses/outages");
    expect(await rows("Available", "Server", "Available", "Covered", "Outages")).toEqual(
      servers.map(({ server, availability, coverage }) => [
        ...[server, availability === null ? UNKNOWN : `${availability} %`, percent(100 * coverage)],
        n(outages.filter((each) => each.server === server).length),
      ]),
    );

    await show("expiry?view=list");
    const { expirations } = await heardOf("/api/licenses/expirations");
    expect(await rows("Expiry", "Feature", "Seats")).toEqual(
      expirations.map((row) => [named(row), row.total === null ? "no limit" : n(row.total)]),
    );
    await show("expiry");
    const months = Map.groupBy(
      expirations.filter(({ expiresOn }) => expiresOn !== null),
      ({ daysLeft, expiresOn }) => ((daysLeft ?? 0) < 0 ? "Expired" : (expiresOn ?? "").slice(0, 7)),
    );
    const heads = await texts("#main .h:has(+ .month)");
    for (const [at, of] of [...months.values()].entries())
      expect(heads[at]).toContain(`${expiring(of)} lost`);
    expect(heard).toEqual([]);
  });
});
