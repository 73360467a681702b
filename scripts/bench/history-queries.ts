import { Database } from "bun:sqlite";
import { DAY_MS, MINUTE_MS } from "../../src/domain/time/clock.ts";
import { createHistoryClient } from "../../src/history/client.ts";
import type { HistoryAnswers } from "../../src/http/history-answers/answers.ts";
import { type HistoryFile, SILENT, serversOf } from "./history-file.ts";
import { nameOf, type YearSize } from "./history-year.ts";
import { longestStall, median, quantile } from "./measure.ts";
import { figure, type Row } from "./table.ts";

const FEATURES_ASKED = 40;

interface Query {
  readonly what: string;
  readonly asks: readonly (() => Promise<unknown>)[];
  /** Maximum time in ms; absent without a limit. */
  readonly atMost?: number;
  readonly of?: "p95" | "median";
  readonly scanMs?: number | null;
}

/** Measures queries of the routes up to the last byte of the answer, compared with a scan of plain rows over the same time. */
export async function queries({ store, plain }: HistoryFile, size: YearSize): Promise<Row[]> {
  // A range such as "the last month" rarely ends on a full hour.
  const end = size.end - 37 * MINUTE_MS - 12_345;
  const clock = { now: () => end };
  const client = createHistoryClient<HistoryAnswers>({ path: `${store}/licmond.db`, clock, log: SILENT });
  const sqlite = new Database(plain.path, { readonly: true });
  const asked = {
    now: end,
    intervals: Object.fromEntries(serversOf(size).map(({ id, intervalMs }) => [id, intervalMs])),
    format: "json" as const,
    anonymize: false,
    timezone: "Europe/Berlin",
    limit: 100,
    offset: 0,
    products: [],
    product: null,
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

  async function measure({ what, asks, atMost, of = "median", scanMs = null }: Query): Promise<void> {
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
    const ours = of === "p95" ? quantile(times, 0.95) : median(times);
    const row = figure(`${what}, ${of}`, ours, "ms", atMost);
    rows.push({ ...row, baseline: scanMs }, figure("  stall of the event loop meanwhile", stall, "ms", 20));
  }
  /** Returns the time of a SQL scan over the plain rows of a day, multiplied by `count` days. */
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
  const one = scan("WHERE feature_id = 8", 365);
  const each = <T>(values: readonly T[], ask: (value: T) => Promise<unknown>) =>
    values.map((value) => () => ask(value));
  const often = <T>(times: number, ask: () => Promise<T>) => each(Array.from({ length: times }), ask);
  const year = { ...asked, ...days(365), filter: everything, sort: null };
  const bySeatHours = { field: "heldSeatHours", descending: true } as const;
  const stats = { interval: null, sort: null };
  const ofFeature = (at: number) => ({ ...asked, ...days(365), filter: named(at) });
  const configured = serversOf(size).map(({ id }) => id);
  const usageBy = (
    groupBy: readonly ("user" | "feature" | "server" | "day")[],
    range: number,
    limit: number,
  ) => client.query("usage", { ...year, ...days(range), groupBy, limit, sort: bySeatHours });
  const few = some.slice(0, 20);
  const list: readonly Query[] = [
    {
      what: "stats of one feature over a year",
      of: "p95",
      atMost: 50,
      asks: each(some, (at) => client.query("stats", { ...ofFeature(at), ...stats, series: true })),
      scanMs: one,
    },
    {
      what: "stats of all features over a month",
      atMost: 1_000,
      asks: often(5, () =>
        client.query("stats", { ...year, ...days(30), ...stats, series: false, limit: null }),
      ),
      scanMs: scan("", 30),
    },
    {
      what: "heat map of a feature over a year",
      atMost: 500,
      asks: each(few, (at) => client.query("heatmap", ofFeature(at))),
      scanMs: one,
    },
    {
      what: "efficiency of a feature over a year",
      atMost: 500,
      asks: each(few, (at) => client.query("efficiency", ofFeature(at))),
      scanMs: one,
    },
    {
      what: "10,000 sessions of a day",
      asks: often(5, () => {
        const sort = { field: "firstSeenAt", descending: true } as const;
        return client.query("sessions", { ...year, ...days(1), limit: 10_000, sort });
      }),
    },
    { what: "usage by user over a week", asks: often(5, () => usageBy(["user"], 7, 10_000)) },
    ...([["user"], ["feature", "server"], ["user", "day"]] as const).map((groupBy) => ({
      what: `usage by ${groupBy.join(" and ")} over a year`,
      atMost: 5_000,
      asks: often(3, () => usageBy(groupBy, 365, 1_000)),
    })),
    {
      what: "heat map of all features over a year",
      atMost: 5_000,
      asks: often(5, () => client.query("heatmap", year)),
      scanMs: scan("", 365),
    },
    {
      what: "outages and availability of all servers over a year",
      atMost: 300,
      asks: often(5, () => client.query("outages", { ...year, servers: null, configured, statuses: null })),
    },
    {
      what: "waits of all features over a year",
      atMost: 300,
      asks: often(5, () => client.query("waits", year)),
    },
    {
      what: "10,000 denials",
      asks: often(5, () => client.query("denials", { ...year, ...everything, limit: 10_000, logging: [] })),
    },
  ];
  try {
    for (const query of list) await measure(query);
    return rows;
  } finally {
    client.stop();
    sqlite.close();
  }
}
