import { expect } from "bun:test";
import type { DenialRecord } from "../../src/domain/denials.ts";
import type {
  EfficiencyRecord,
  HeatCellRecord,
  StatsRecord,
  UsageRecord,
} from "../../src/domain/history-records.ts";
import type { AvailabilityRecord, OutageRecord } from "../../src/domain/outages.ts";
import type { ExpirationRecord } from "../../src/domain/records.ts";
import { unlessSeats } from "../../src/page/words.ts";
import {
  type Figures,
  n,
  named,
  percent,
  pick,
  plural,
  seatsLost,
  sum,
  time,
  UNKNOWN,
} from "./page-figures.ts";

/** Compares the history pages with the API's answers. */
export async function checkPast({ show, rows, heardOf, texts }: Figures): Promise<void> {
  const [start, end] = [20 * 60, 2].map((minutes) => new Date(Date.now() - minutes * 60_000).toISOString());
  const range = `range=${start}/${end}`;
  for (const [by, head] of [
    ["user", "Person"],
    ["server", "Server"],
  ] as const) {
    await show(`history?${range}&group_by=${by}`);
    const { groups } = await heardOf<{ groups: UsageRecord[] }>("usage");
    expect(pick(await rows(`By ${by}`), head, "Seat-hours", "Peak", "Sessions")).toEqual(
      groups.map((row) => [
        row[by] ?? "",
        n(Math.round(row.heldSeatHours)),
        n(row.peakHeld),
        n(row.sessions),
      ]),
    );
  }
  await show(`history?report=efficiency&${range}`);
  const { features } = await heardOf<{ features: StatsRecord[] }>("stats");
  expect(
    pick(
      await rows("Use of seats"),
      "Feature",
      "Seats",
      "Peak",
      "p95",
      "Average",
      "Full for",
      "People",
      "Denied",
      "Covered",
    ),
  ).toEqual(
    features.map((row) => [
      ...[named(row), n(row.total), n(row.peakUsed), n(row.p95Used), percent(row.averageUtilization)],
      ...[time(row.saturatedSeconds), n(row.uniqueUsers), n(row.denials), percent(100 * row.coverage)],
    ]),
  );
  const { features: seats } = await heardOf<{ features: EfficiencyRecord[] }>("efficiency");
  const last = ({ seats, total }: EfficiencyRecord) =>
    total === null ? null : (seats.at(-1)?.busyPercent ?? null);
  expect(pick(await rows("Effect of fewer seats"), "Feature", "Seats", "Last seat busy")).toEqual(
    seats.map((row) => [named(row), n(row.total), percent(last(row))]),
  );

  await show(`history?report=heatmap&${range}`);
  const { cells } = await heardOf<{ cells: HeatCellRecord[] }>("heatmap");
  const hours = await texts("table td .vh");
  expect(hours.map((hour) => /peak ([\d,]+), .*?(\d+) %/.exec(hour)?.slice(1) ?? null)).toEqual(
    cells.map(({ peakUsed, averageUsed, coverage }) =>
      averageUsed === null ? null : [n(peakUsed), `${Math.floor(100 * coverage)}`],
    ),
  );

  await show(`denials?${range}`);
  const { denials } = await heardOf<{ denials: DenialRecord[] }>("denials");
  const group = (key: (row: DenialRecord) => string) =>
    [...Map.groupBy(denials, key)].map(([name, of]) => {
      const count = (outcome: DenialRecord["outcome"]) =>
        n(
          sum(
            of.filter((row) => row.outcome === outcome).map((row) => (row.feature === null ? row.count : 1)),
          ),
        );
      return [name, count("denied"), count("queued"), count("granted_later")];
    });
  const counts = ["Denied", "Waited", "Granted later"];
  const byFeature = group((row) =>
    row.feature === null ? `${row.daemon}, counted without names ${row.server}` : named(row),
  );
  expect(pick(await rows("By feature"), "Feature", ...counts).sort()).toEqual(byFeature.sort());
  expect(pick(await rows("By person"), "Person", ...counts).sort()).toEqual(
    group(({ user }) => user ?? "")
      .filter(([user]) => user !== "")
      .sort(),
  );

  await show(`outages?${range}`);
  const { servers, outages } = await heardOf<{ servers: AvailabilityRecord[]; outages: OutageRecord[] }>(
    "outages",
  );
  expect((await rows("Available")).map((row) => Object.values(row).filter((_, at) => at !== 1))).toEqual(
    servers.map(({ server, availability, coverage }) => [
      ...[server, availability === null ? UNKNOWN : `${availability} %`, percent(100 * coverage)],
      n(outages.filter((each) => each.server === server).length),
    ]),
  );

  await show("expiry?view=list");
  const { expirations } = await heardOf<{ expirations: ExpirationRecord[] }>("expirations");
  const list = await texts("#main tbody tr");
  expect(list.length).toBe(expirations.length);
  for (const [at, { feature, unit, server, total }] of expirations.entries())
    expect([
      list[at],
      list[at]?.includes(`${feature}${unlessSeats(unit)} ${server} `),
      list[at]?.includes(total === null ? "no limit" : n(total)),
    ]).toEqual([list[at], true, true]);
  await show("expiry");
  const months = Map.groupBy(
    expirations.filter(({ expiresOn }) => expiresOn !== null),
    ({ daysLeft, expiresOn }) => ((daysLeft ?? 0) < 0 ? "Expired" : (expiresOn ?? "").slice(0, 7)),
  );
  const heads = [...months.values()].map(
    (of) =>
      `${plural(new Set(of.map((row) => named(row))).size, "feature")}, ${plural(seatsLost(of), "seat")} lost`,
  );
  const monthHeads = await texts("#main .h:has(+ .month)");
  expect(heads.filter((head, at) => !monthHeads[at]?.includes(head))).toEqual([]);
}
