import { Database } from "bun:sqlite";
import { DAY_MS, MINUTE_MS } from "../../src/domain/time/clock.ts";
import { createHistoryClient } from "../../src/history/client.ts";
import type { HistoryAnswers } from "../../src/http/history-answers/answers.ts";
import { type HistoryFile, SILENT, serversOf } from "./history-file.ts";
import { nameOf, type YearSize } from "./history-year.ts";
import { longestStall, median, quantile } from "./measure.ts";
import type { Row } from "./table.ts";

const FEATURES_ASKED = 40;

/** Measures queries of the routes up to the last byte of the answer, compared with a scan of plain rows over the same time. */
export async function queries({ store, plain }: HistoryFile, size: YearSize): Promise<Row[]> {
  // People ask for "the last month" at any minute of an hour.
  const end = size.end - 37 * MINUTE_MS - 12_345;
  const clock = { now: () => end };
  const client = createHistoryClient<HistoryAnswers>({ path: `${store}/licmond.db`, clock, log: SILENT });
  const sqlite = new Database(plain.path, { readonly: true });
  const asked = {
    now: end,
    intervals: Object.fromEntries(serversOf(size).map(({ id, intervalMs }) => [id, intervalMs])),
    ...({
      format: "json",
      anonymize: false,
      timezone: "Europe/Berlin",
      limit: 100,
      offset: 0,
      products: [],
      product: null,
    } as const),
  };
  const days = (count: number) => ({ start: end - Math.min(count, size.days) * DAY_MS, end });
  const named = (index: number) => {
    const { server, feature } = nameOf(size, index);
    return { servers: [server], daemons: null, features: [feature] };
  };
  const everything = { servers: null, daemons: null, features: null, users: null, hosts: null };
  const all = size.servers * size.features;
  const some = Array.from({ length: FEATURES_ASKED }, (_, at) => (at * 127) % all);
  const rows: Row[] = [];

  async function row(
    what: string,
    bound: { readonly of: "p95" | "median"; readonly ms: number } | null,
    asks: readonly (() => Promise<unknown>)[],
    scanMs: number | null,
  ): Promise<void> {
    const times: number[] = [];
    // The first request warms caches that are warm in any running daemon.
    await asks[0]?.();
    const stall = await longestStall(async () => {
      for (const ask of asks) {
        const begun = performance.now();
        await ask();
        times.push(performance.now() - begun);
      }
    });
    rows.push({
      what: `${what}, ${bound?.of ?? "median"}`,
      baseline: scanMs,
      unit: "ms",
      ours: bound?.of === "p95" ? quantile(times, 0.95) : median(times),
      bound: bound === null ? null : { of: "ours", atMost: bound.ms },
    });
    rows.push({
      what: "  stall of the event loop meanwhile",

      ours: stall,
      baseline: null,
      unit: "ms",
      bound: { of: "ours", atMost: 20 },
    });
  }
  /** Scans the plain rows of a day in SQL. Multiplied by the days, it is the time for the range. */
  const scan = (where: string, count: number): number => {
    const statement = sqlite.query(
      `SELECT feature_id, avg(used), max(used) FROM polls ${where} GROUP BY feature_id`,
    );
    const times = Array.from({ length: 5 }, () => {
      const begun = performance.now();
      statement.all();
      return performance.now() - begun;
    });
    return median(times) * Math.min(count, size.days);
  };
  const one = "WHERE feature_id = 8";
  const thrice = [1, 2, 3, 4, 5];
  try {
    await row(
      "stats of one feature over a year",
      { of: "p95", ms: 50 },
      some.map(
        (at) => () =>
          client.query("stats", {
            ...asked,
            ...days(365),
            filter: named(at),
            interval: null,
            series: true,
            sort: null,
          }),
      ),
      scan(one, 365),
    );
    await row(
      "stats of all features over a month",
      { of: "median", ms: 1_000 },
      thrice.map(
        () => () =>
          client.query("stats", {
            ...asked,
            ...days(30),
            filter: everything,
            interval: null,
            series: false,
            sort: null,
            limit: null,
          }),
      ),
      scan("", 30),
    );
    await row(
      "heat map of a feature over a year",
      { of: "median", ms: 500 },
      some
        .slice(0, 20)
        .map((at) => () => client.query("heatmap", { ...asked, ...days(365), filter: named(at) })),
      scan(one, 365),
    );
    await row(
      "efficiency of a feature over a year",
      { of: "median", ms: 500 },
      some
        .slice(0, 20)
        .map((at) => () => client.query("efficiency", { ...asked, ...days(365), filter: named(at) })),
      scan(one, 365),
    );
    await row(
      "10,000 sessions of a day",
      null,
      thrice.map(
        () => () =>
          client.query("sessions", {
            ...asked,
            ...days(1),
            filter: everything,
            limit: 10_000,
            sort: { field: "firstSeenAt", descending: true },
          }),
      ),
      null,
    );
    await row(
      "usage by user over a week",
      null,
      thrice.map(
        () => () =>
          client.query("usage", {
            ...asked,
            ...days(7),
            filter: everything,
            groupBy: ["user"],
            limit: 10_000,
            sort: { field: "heldSeatHours", descending: true },
          }),
      ),
      null,
    );
    for (const groupBy of [["user"], ["feature", "server"], ["user", "day"]] as const) {
      await row(
        `usage by ${groupBy.join(" and ")} over a year`,
        { of: "median", ms: 5_000 },
        thrice.slice(0, 3).map(
          () => () =>
            client.query("usage", {
              ...asked,
              ...days(365),
              filter: everything,
              groupBy,
              limit: 1000,
              sort: { field: "heldSeatHours", descending: true },
            }),
        ),
        null,
      );
    }
    await row(
      "heat map of all features over a year",
      { of: "median", ms: 5_000 },
      thrice.map(() => () => client.query("heatmap", { ...asked, ...days(365), filter: everything })),
      scan("", 365),
    );
    await row(
      "outages and availability of all servers over a year",
      { of: "median", ms: 300 },
      thrice.map(
        () => () =>
          client.query("outages", {
            ...asked,
            ...days(365),
            servers: null,
            configured: serversOf(size).map(({ id }) => id),
            statuses: null,
            sort: null,
          }),
      ),
      null,
    );
    await row(
      "waits of all features over a year",
      { of: "median", ms: 300 },
      thrice.map(
        () => () => client.query("waits", { ...asked, ...days(365), filter: everything, sort: null }),
      ),
      null,
    );
    await row(
      "10,000 denials",
      null,
      thrice.map(
        () => () =>
          client.query("denials", {
            ...asked,
            ...everything,
            ...days(365),
            sort: null,
            limit: 10_000,
            logging: [],
          }),
      ),
      null,
    );
    return rows;
  } finally {
    client.stop();
    sqlite.close();
  }
}
