import type { ComponentChildren } from "preact";
import type { EfficiencyRecord, StatsRecord } from "../../domain/history-records.ts";
import { mayNot } from "../api.ts";
import { byName, number } from "../format.ts";
import { IS_FLEET } from "../here.ts";
import { site } from "../live/live.ts";
import { allFeatures } from "../model.ts";
import { ChartFigure } from "../parts/chart-figure.tsx";
import { Figure, MOST_ROWS, NO_COVERAGE } from "../parts/figure.tsx";
import { HeatMap } from "../parts/heat-map.tsx";
import { asDuration, asPercent } from "../parts/marks.tsx";
import { askedHere, coveredIn, PastHead, rangeHere } from "../parts/past-head.tsx";
import { type Column, FEATURE, Rows } from "../parts/rows.tsx";
import { Choice } from "../parts/search-field.tsx";
import { byWords, UsageRows } from "../parts/usage-rows.tsx";
import { before, ZONE } from "../range.ts";
import { go, linkTo, query } from "../router.ts";
import { fewerSeats, isCovered, orUnknown } from "../series.ts";

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
        <Choice name="group_by" any={byWords(first)} values={others} word={byWords} />
      </PastHead>
      <Figure
        title={byWords(by)}
        path="/api/licenses/usage"
        query={{ ...askedHere(range), group_by: by, timezone: ZONE, limit: `${MOST_ROWS}` }}
        note={(answer) => coveredIn(answer, [answer])}
      >
        {(answer) =>
          answer.groups.length > 0 || isCovered(answer) ? (
            <UsageRows by={by} groups={answer.groups} total={answer.total} />
          ) : (
            <p class="q">{NO_COVERAGE}</p>
          )
        }
      </Figure>
    </>
  );
}

const DEMAND = { log: "from the log", queue: "from the queue", none: "not known" };
const fewerWords = (count: string) => `With ${count} fewer`;
const FEWER = ["1", "2", "5", "10 %", "20 %", "50 %"] as const;

function Efficiency() {
  const range = rangeHere("30d");
  const fewer = query.value.get("fewer") ?? FEWER[0];
  const asked = { ...askedHere(range), limit: "1000" };
  return (
    <>
      <PastHead range={range}>
        <Choice name="fewer" any={fewerWords(FEWER[0])} values={FEWER.slice(1)} word={fewerWords} />
      </PastHead>
      <Figure
        title="Use of seats"
        path="/api/licenses/stats"
        query={{ ...asked, series: "false", sort: "-averageUtilization" }}
        note={(answer) => coveredIn(answer, answer.features)}
      >
        {({ features, total }) => <Rows label="Use of seats" rows={features} total={total} columns={STATS} />}
      </Figure>
      <Figure
        title="Effect of fewer seats"
        path="/api/licenses/efficiency"
        query={asked}
        note={(answer) => coveredIn(answer, answer.features)}
      >
        {({ features, total }) => (
          <Rows label="Effect of fewer seats" rows={features} total={total} columns={seatColumns(fewer)} />
        )}
      </Figure>
    </>
  );
}

const TOTAL: Column<{ readonly total: number | null }> = { head: "Seats", value: ({ total }) => total };
const COVERED: Column<{ readonly coverage: number }> = {
  head: "Covered",
  value: ({ coverage }) => 100 * coverage,
  as: asPercent,
  wide: true,
};
const STATS: readonly Column<StatsRecord>[] = [
  FEATURE,
  TOTAL,
  { head: "Peak", value: (row) => orUnknown(row.peakUsed, row) },
  { head: "p95", value: (row) => orUnknown(row.p95Used, row) },
  { head: "Average", value: (row) => orUnknown(row.averageUtilization, row), as: asPercent },
  { head: "Full for", value: (row) => orUnknown(row.saturatedSeconds, row), as: asDuration, wide: true },
  { head: "People", value: (row) => orUnknown(row.uniqueUsers, row), wide: true },
  { head: "Denied", value: ({ denials }) => denials, wide: true },
  COVERED,
];

function seatColumns(fewer: string): readonly Column<EfficiencyRecord>[] {
  const busyAt = ({ seats, total }: EfficiencyRecord, share: number) => {
    const seat = Math.max(1, Math.ceil((total ?? 0) * share));
    return total === null ? null : (seats.find((each) => each.seat >= seat)?.busyPercent ?? null);
  };
  const then = (row: EfficiencyRecord) => fewerSeats(row, fewer);
  return [
    FEATURE,
    { ...TOTAL, wide: true },
    { head: "Middle seat busy", value: (row) => busyAt(row, 0.5), as: asPercent, wide: true },
    { head: "Last seat busy", value: (row) => busyAt(row, 1), as: asPercent },
    { head: "Left", value: (row) => then(row)?.total ?? null },
    {
      head: "Full",
      value: (row) => orUnknown(then(row)?.saturatedSeconds ?? null, row),
      as: asDuration,
      wide: true,
    },
    { head: "Sessions affected", value: (row) => orUnknown(then(row)?.affectedSessions ?? null, row) },
    { head: "Unmet", isWord: true, by: ({ demand }) => DEMAND[demand.knownFrom], wide: true },
    COVERED,
  ];
}

function Hours() {
  const range = rangeHere("30d");
  return (
    <>
      <PastHead range={range} />
      <Figure
        title="Week"
        path="/api/licenses/heatmap"
        query={{ ...askedHere(range), timezone: ZONE }}
        note={(answer) =>
          `${number(answer.features)} features together, average by hour, ${coveredIn(answer, answer.cells)}`
        }
      >
        {({ cells }) => <HeatMap cells={cells} total={null} isBig />}
      </Figure>
    </>
  );
}

const MOST_COMPARED = 8;

/** Shows up to eight features on one time scale, optionally with the period before. */
export function Compare() {
  const range = rangeHere("30d");
  const rows = allFeatures(site.value ?? new Map()).sort((a, b) => byName(a.feature.name, b.feature.name));
  const names = new Map(rows.map(({ id, server, feature }) => [id, `${feature.name} (${server.id})`]));
  const chosen = query.value.getAll("feature").slice(0, MOST_COMPARED);
  const to = (feature: readonly string[]) =>
    linkTo("history", { ...Object.fromEntries(query.value), feature: [...feature] });
  const withBefore = query.value.get("before") === "1";
  return (
    <>
      <PastHead range={range}>
        {chosen.map((id) => (
          <a key={id} class="chip" href={to(chosen.filter((each) => each !== id))}>
            {names.get(id) ?? id} <span aria-hidden="true">×</span>
            <span class="vh">remove</span>
          </a>
        ))}
        {chosen.length < MOST_COMPARED && (
          <select
            class="chip"
            aria-label="Add a feature"
            value=""
            onChange={({ currentTarget }) => go(to([...chosen, currentTarget.value]))}
          >
            <option value="">Add a feature</option>
            {[...names]
              .filter(([id]) => !chosen.includes(id))
              .map(([id, name]) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
          </select>
        )}
        <Choice
          name="before"
          any="Period: this one only"
          values={["1"]}
          word={() => "Period: with the previous one"}
        />
      </PastHead>
      {chosen.length === 0 && (
        <p class="sec q">Choose up to 8 features. They share one time scale, each from 0 to its total.</p>
      )}
      {chosen
        .flatMap((id) => rows.find((row) => row.id === id) ?? [])
        .map((row) => (
          <div key={row.id} class={`cols ${withBefore ? "c2" : ""}`}>
            <ChartFigure row={row} range={range} title={row.feature.name} />
            {withBefore && <ChartFigure row={row} range={before(range)} title={row.feature.name} />}
          </div>
        ))}
    </>
  );
}
