import type { ComponentChildren } from "preact";
import type { EfficiencyRecord, StatsRecord } from "../../domain/history-records.ts";
import type { Column } from "../columns.ts";
import { byName } from "../format.ts";
import { IS_FLEET } from "../here.ts";
import { site } from "../live/live.ts";
import { mayNot } from "../me.ts";
import { asDuration, asPercent, FeatureLink, featureText } from "../parts/cells.tsx";
import { MOST_ROWS } from "../parts/csv.tsx";
import { Figure } from "../parts/figure.tsx";
import { HeatMap } from "../parts/heat-map.tsx";
import { askedHere, PastHead, periodOf, rangeHere } from "../parts/past-head.tsx";
import { Rows } from "../parts/rows.tsx";
import { Choice } from "../parts/search-field.tsx";
import { UsageRows } from "../parts/usage-rows.tsx";
import { ZONE } from "../range.ts";
import { query } from "../router.ts";
import { fewerSeats, isCovered, meanCoverage, orUnknown } from "../series.ts";
import { past } from "../words-past.ts";
import { Compare } from "./compare.tsx";

/** Shows reports on usage, busy seats, hours of the week, and comparisons. */
export function History() {
  const Report = REPORTS[query.value.get("report") ?? ""] ?? Usage;
  return <Report />;
}

const REPORTS: Readonly<Record<string, () => ComponentChildren>> = {
  efficiency: Efficiency,
  heatmap: Hours,
  compare: Compare,
};

const KEYS = ["user", "host", "feature", "product", "server", "day"] as const;
/** A fleet can group by site. */
const FIRST_KEYS = IS_FLEET ? (["site"] as const) : [];

function Usage() {
  const range = rangeHere("30d");
  const labels = [...new Set([...(site.value?.values() ?? [])].flatMap(({ labels }) => Object.keys(labels)))];
  const [first = "feature", ...keys] = [...FIRST_KEYS, ...(mayNot("holders") ? KEYS.slice(2) : KEYS)];
  const others = [...keys, ...labels.sort(byName).map((name) => `label:${name}`)];
  const by = query.value.get("group_by") ?? first;
  return (
    <>
      <PastHead range={range}>
        <Choice name="group_by" any={past.by(first)} values={others} word={past.by} />
      </PastHead>
      <Figure
        title={past.by(by)}
        path="/api/licenses/usage"
        query={{ ...askedHere(range), group_by: by, timezone: ZONE, limit: `${MOST_ROWS}` }}
        note={(answer) => past.covered(periodOf(answer), meanCoverage([answer]))}
      >
        {(answer) =>
          answer.groups.length > 0 || isCovered(answer) ? (
            <UsageRows by={by} groups={answer.groups} total={answer.total} />
          ) : (
            <p class="q">{past.noCoverage}</p>
          )
        }
      </Figure>
    </>
  );
}

const FEWER = ["1", "2", "5", "10 %", "20 %", "50 %"] as const;

function Efficiency() {
  const range = rangeHere("30d");
  const fewer = query.value.get("fewer") ?? FEWER[0];
  const asked = { ...askedHere(range), limit: "1000" };
  return (
    <>
      <PastHead range={range}>
        <Choice name="fewer" any={past.fewer(FEWER[0])} values={FEWER.slice(1)} word={past.fewer} />
      </PastHead>
      <Figure
        title={past.useOfSeats}
        path="/api/licenses/stats"
        query={{ ...asked, series: "false", sort: "-averageUtilization" }}
        note={(answer) => past.covered(periodOf(answer), meanCoverage(answer.features))}
      >
        {({ features, total }) => (
          <Rows label={past.useOfSeats} rows={features} total={total} columns={STATS} />
        )}
      </Figure>
      <Figure
        title={past.eachSeat}
        path="/api/licenses/efficiency"
        query={asked}
        note={(answer) => past.covered(periodOf(answer), meanCoverage(answer.features))}
      >
        {({ features, total }) => (
          <Rows label={past.eachSeat} rows={features} total={total} columns={seatColumns(fewer)} />
        )}
      </Figure>
    </>
  );
}

const FEATURE: Column<StatsRecord | EfficiencyRecord> = {
  head: past.groups.feature,
  by: featureText,
  cell: (row) => <FeatureLink {...row} />,
};
const TOTAL: Column<{ readonly total: number | null }> = { head: past.seats, value: ({ total }) => total };
const COVERED: Column<{ readonly coverage: number }> = {
  head: past.known,
  value: ({ coverage }) => 100 * coverage,
  as: asPercent,
  wide: true,
};
const STATS: readonly Column<StatsRecord>[] = [
  FEATURE,
  TOTAL,
  { head: past.peak, value: (row) => orUnknown(row.peakUsed, row) },
  { head: past.p95, value: (row) => orUnknown(row.p95Used, row) },
  { head: past.onAverage, value: (row) => orUnknown(row.averageUtilization, row), as: asPercent },
  { head: past.fullFor, value: (row) => orUnknown(row.saturatedSeconds, row), as: asDuration, wide: true },
  { head: past.people, value: (row) => orUnknown(row.uniqueUsers, row), wide: true },
  { head: past.deniedHead, value: ({ denials }) => denials, wide: true },
  COVERED,
];

/** Shows how busy the middle and the last seat were, and the effect of fewer seats. */
function seatColumns(fewer: string): readonly Column<EfficiencyRecord>[] {
  const busyAt = ({ seats, total }: EfficiencyRecord, share: number) => {
    const seat = Math.max(1, Math.ceil((total ?? 0) * share));
    return total === null ? null : (seats.find((each) => each.seat >= seat)?.busyPercent ?? null);
  };
  const then = (row: EfficiencyRecord) => fewerSeats(row, fewer);
  return [
    FEATURE,
    { ...TOTAL, wide: true },
    { head: past.halfBusy, value: (row) => busyAt(row, 0.5), as: asPercent, wide: true },
    { head: past.lastBusy, value: (row) => busyAt(row, 1), as: asPercent },
    { head: past.wouldHave, value: (row) => then(row)?.total ?? null },
    {
      head: past.fullThen,
      value: (row) => orUnknown(then(row)?.saturatedSeconds ?? null, row),
      as: asDuration,
      wide: true,
    },
    { head: past.sessionsAffected, value: (row) => orUnknown(then(row)?.affectedSessions ?? null, row) },
    {
      head: past.askedFor,
      isWord: true,
      by: ({ demand }) => past.demandShort[demand.knownFrom],
      cell: ({ demand }) => past.demandShort[demand.knownFrom],
      wide: true,
    },
    COVERED,
  ];
}

function Hours() {
  const range = rangeHere("30d");
  return (
    <>
      <PastHead range={range} />
      <Figure
        title={past.week}
        path="/api/licenses/heatmap"
        query={{ ...askedHere(range), timezone: ZONE }}
        note={(answer) =>
          past.together(answer.features, past.weekOf(periodOf(answer), meanCoverage(answer.cells)))
        }
      >
        {({ cells }) => <HeatMap cells={cells} total={null} isBig />}
      </Figure>
    </>
  );
}
