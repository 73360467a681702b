import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { Answers, Query } from "../api.ts";
import { now } from "../live/live.ts";
import { mayNot } from "../me.ts";
import type { FeatureRow } from "../model.ts";
import { type Range, rangeInWords, rangeQuery, ZONE } from "../range.ts";
import { type Lane, meanCoverage, seriesOf } from "../series.ts";
import { past } from "../words-past.ts";
import { StatsFacts } from "./cells.tsx";
import { Chart } from "./chart.tsx";
import { Figure, useAnswer } from "./figure.tsx";
import { zoom } from "./range-choice.tsx";

/** A feature, as a question names it. */
export const idOf = ({ server, feature }: FeatureRow) => ({
  server: server.id,
  daemon: feature.daemon,
  feature: feature.name,
});

interface Props {
  readonly row: FeatureRow;
  readonly range: Range;
  readonly title: string;
  readonly aside?: ComponentChildren;
}

/** A feature's seats over a range, with what they come to. */
export function ChartFigure({ row, range, title, aside }: Props) {
  const asked = { ...idOf(row), ...rangeQuery(range) };
  return (
    <Figure
      id="seats"
      title={title}
      path="/api/licenses/stats"
      query={{ ...asked, timezone: ZONE }}
      note={({ features }) => past.covered(rangeInWords(range, now.peek()), meanCoverage(features))}
      aside={aside}
    >
      {(answer) => (
        <SeatChart
          answer={answer}
          denials={{ ...asked, limit: "10000" }}
          waiting={range.word === null ? 0 : (row.feature.queued ?? 0)}
        />
      )}
    </Figure>
  );
}

interface SeatChartProps {
  readonly answer: Answers["/api/licenses/stats"];
  readonly denials: Query;
  /** Requests that wait now. */
  readonly waiting: number;
}

/** Seats, who came to wait, and who was denied, on one time axis. */
function SeatChart({ answer, denials, waiting }: SeatChartProps) {
  const stats = answer.features[0];
  const series = useMemo(() => seriesOf(stats?.series, answer), [answer]);
  const { answer: denied } = useAnswer("/api/licenses/denials", mayNot("holders") ? null : denials);
  if (stats === undefined || stats.coverage === 0) return <p class="pending q">{past.noCoverage}</p>;
  const since = denied && namedSince(denied);
  const lane = (label: string, colour: Lane["colour"], outcome: "denied" | "queued"): Lane => {
    const rows = denied?.denials.filter((row) => row.outcome === outcome) ?? [];
    if (since === null) return { label, colour, marks: null };
    return { label, colour, since, marks: rows.map(({ timestamp }) => Date.parse(timestamp)) };
  };
  const queued = lane(past.waiting, "warn-mark", "queued");
  return (
    <>
      <Chart
        label={past.seatsInUse}
        unit={past.unit}
        series={series}
        now={now.peek()}
        lanes={[
          waiting > 0 ? { ...queued, note: past.waitNow(waiting) } : queued,
          lane(past.denied, "crit-mark", "denied"),
        ]}
        fullSeconds={stats.saturatedSeconds}
        onZoom={zoom}
      />
      <StatsFacts of={stats} />
    </>
  );
}

/**
 * Since when a feature's denials are known and listed, epoch ms; null where they are not, or not by feature. The oldest
 * are missing of an answer that is not all.
 */
function namedSince({ logging: [logging], denials, total }: Answers["/api/licenses/denials"]): number | null {
  if (logging?.state !== "on" || logging.source === "counters") return null;
  const oldest = total > denials.length ? Date.parse(denials.at(-1)?.timestamp ?? "") : 0;
  return Math.max(oldest, Date.parse(logging.since ?? "") || 0);
}
