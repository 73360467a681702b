import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { StatsRecord } from "../../domain/history-records.ts";
import { type Answers, mayNot } from "../api.ts";
import { number } from "../format.ts";
import type { FeatureRow } from "../model.ts";
import { type Range, rangeQuery, stepOf, ZONE } from "../range.ts";
import { isDaily, type Lane, orUnknown, peakOf, type Series, seriesOf } from "../series.ts";
import { useAnswer } from "./answer.tsx";
import { Chart } from "./chart.tsx";
import { Figure, NO_COVERAGE } from "./figure.tsx";
import { asDuration, Facts, Known } from "./marks.tsx";
import { coveredIn, zoom } from "./past-head.tsx";

export const idOf = ({ server, feature }: FeatureRow) => ({
  server: server.id,
  daemon: feature.daemon,
  feature: feature.name,
});

/** A feature's seats over a range, with totals. */
export function ChartFigure(props: {
  readonly row: FeatureRow;
  readonly range: Range;
  readonly title: string;
  readonly id?: string;
  readonly aside?: ComponentChildren;
}) {
  const { row, range, title, id, aside } = props;
  const asked = { ...idOf(row), ...rangeQuery(range) };
  const denials = mayNot("holders") ? null : { ...asked, limit: "10000" };
  const { answer: denied } = useAnswer("/api/licenses/denials", denials);
  const waiting = range.word === null ? 0 : (row.feature.queued ?? 0);
  return (
    <Figure
      id={id}
      title={title}
      path="/api/licenses/stats"
      query={{ ...asked, interval: stepOf(range), timezone: ZONE }}
      note={({ features }) => coveredIn(range, features)}
      aside={aside}
    >
      {(answer) => <SeatChart row={row} answer={answer} lanes={lanesOf(denied, waiting)} />}
    </Figure>
  );
}

/** Seats, waiting requests and denials on one time axis. */
function SeatChart(props: {
  readonly row: FeatureRow;
  readonly answer: Answers["/api/licenses/stats"];
  readonly lanes: readonly Lane[];
}) {
  const { row, answer, lanes } = props;
  const stats = answer.features[0];
  const drawn = useMemo(() => seriesOf(stats?.series, answer), [answer]);
  const peakHour = usePeakHour(row, drawn);
  const series = useMemo(() => ({ ...drawn, peakHour }), [drawn, peakHour]);
  if (stats === undefined || orUnknown(stats.peakUsed, stats) === null)
    return <p class="empty pending q">{NO_COVERAGE}</p>;
  return (
    <>
      <Chart
        series={series}
        unit={stats.unit}
        lanes={lanes}
        fullSeconds={stats.saturatedSeconds}
        onZoom={zoom}
      />
      <StatsFacts of={stats} />
    </>
  );
}

/** Returns the hour of the highest peak in epoch ms if buckets are days; null while unknown. */
function usePeakHour(row: FeatureRow, series: Series): number | null {
  const peak = isDaily(series) ? peakOf(series) : null;
  const until = series.buckets.find(({ at }) => at > (peak?.at ?? 0))?.at ?? series.end;
  const day = peak && {
    start: new Date(peak.at).toISOString(),
    end: new Date(until).toISOString(),
    interval: "1h",
  };
  const { answer } = useAnswer("/api/licenses/stats", day && { ...idOf(row), ...day });
  const hours = answer && seriesOf(answer.features[0]?.series, answer);
  return hours && (peakOf(hours)?.at ?? null);
}

type Denials = Answers["/api/licenses/denials"];

/** Returns the lanes; `waiting` counts requests that wait now. */
function lanesOf(denied: Denials | null, waiting: number): readonly Lane[] {
  const since = denied && namedSince(denied);
  const marks = (outcome: "denied" | "queued") =>
    denied === null || since === null
      ? null
      : denied.denials.filter((row) => row.outcome === outcome).map(({ timestamp }) => Date.parse(timestamp));
  const known = since === null ? {} : { since };
  const note = waiting > 0 ? { note: `${number(waiting)} now` } : {};
  return [
    { label: "waiting", colour: "full-mark", marks: marks("queued"), ...known, ...note },
    { label: "denied", colour: "crit-mark", marks: marks("denied"), ...known },
  ];
}

/**
 * Returns the time since which a feature's denials are known and listed, in epoch ms. Returns null if
 * denials are unknown, or not known by feature. If the answer is truncated, it lacks the oldest denials, so
 * the time is the time of the oldest listed denial.
 */
function namedSince({ logging: [logging], denials, total }: Denials): number | null {
  // Only some managers count denials by feature, so a feature without counted denials may still have some.
  if (logging?.state !== "on" || (logging.source === "counters" && total === 0)) return null;
  const oldest = total > denials.length ? Date.parse(denials.at(-1)?.timestamp ?? "") : 0;
  return Math.max(oldest, Date.parse(logging.since ?? "") || 0);
}

function StatsFacts({ of }: Readonly<{ of: StatsRecord }>) {
  const known = (value: number | null, as = number) => <Known value={orUnknown(value, of)} as={as} />;
  const facts: [string, ComponentChildren][] = [
    ["Peak", known(of.peakUsed)],
    ["p95", known(of.p95Used)],
    ["Average", known(of.averageUsed, (seats) => number(Math.round(10 * seats) / 10))],
    ["Full for", known(of.saturatedSeconds, asDuration)],
    ["Sessions", known(of.sessions)],
    ["People", known(of.uniqueUsers)],
    ["Denied", <Known value={of.denials} />],
  ];
  return <Facts of={facts} />;
}
