import type { AvailabilityRecord, OutageRecord } from "../../domain/outages.ts";
import { duration, moment } from "../format.ts";
import { now } from "../live/live.ts";
import { asPercent } from "../parts/cells.tsx";
import { Figure, Rows } from "../parts/figure.tsx";
import { State } from "../parts/marks.tsx";
import { PastHead } from "../parts/past-head.tsx";
import { rangeHere } from "../parts/range-choice.tsx";
import { type Range, rangeInWords, rangeQuery } from "../range.ts";
import { timeTicks } from "../series.ts";
import { past } from "../words-past.ts";
import { ServerChoice, serverHere } from "./history.tsx";

const SHOWN = 100;
const MARKS = { down: "crit", degraded: "warn", unknown: "unknown" } as const;

/** When servers were not up, and how much of the time is known. */
export function Outages() {
  const range = rangeHere("30d");
  return (
    <>
      <PastHead range={range}>
        <ServerChoice />
      </PastHead>
      <Figure
        title={past.availability}
        path="/api/licenses/outages"
        query={{ ...serverHere(), ...rangeQuery(range), limit: "10000" }}
        note={() => rangeInWords(range, now.peek())}
      >
        {({ servers, outages, total }) => (
          <>
            <Rows
              label={past.availability}
              rows={servers}
              columns={[
                { head: past.serverHead, cell: ({ server }) => server },
                {
                  head: past.overTime,
                  wide: true,
                  cell: (of) => <Lane of={of} outages={outages} range={range} />,
                },
                {
                  head: past.availability,
                  value: ({ availability }) => availability,
                  as: (value) => `${value} %`,
                },
                { head: past.known, value: ({ coverage }) => 100 * coverage, as: asPercent },
                {
                  head: past.stretches,
                  value: ({ server }) => outages.filter((each) => each.server === server).length,
                },
              ]}
            />
            <h2>{past.stretches}</h2>
            <Rows
              label={past.stretches}
              none={past.noOutages}
              rows={outages.slice(0, SHOWN)}
              total={total}
              columns={[
                { head: past.serverHead, cell: ({ server }) => server },
                {
                  head: past.status,
                  cell: ({ status }) => <State is={MARKS[status]}>{past.statuses[status]}</State>,
                },
                {
                  head: past.begins,
                  right: true,
                  cell: ({ startedAt }) => moment(Date.parse(startedAt), now.peek()),
                },
                {
                  head: past.lasted,
                  right: true,
                  cell: ({ endedAt, durationSeconds }) =>
                    `${endedAt === null ? `${past.goesOn}, ` : ""}${duration(1000 * durationSeconds)}`,
                },
                { head: past.reason, wide: true, cell: ({ reason }) => <span class="q">{reason}</span> },
              ]}
            />
          </>
        )}
      </Figure>
    </>
  );
}

interface LaneProps {
  readonly of: AvailabilityRecord;
  readonly outages: readonly OutageRecord[];
  readonly range: Range;
}

const WIDTH = 1000;

/** The stretches of a server on the time of the range; the rows below name them. */
function Lane({ of, outages, range: { start, end } }: LaneProps) {
  const x = (at: number) => (WIDTH * (Math.min(end, Math.max(start, at)) - start)) / (end - start);
  const path = (status: OutageRecord["status"]) =>
    outages
      .filter((each) => each.server === of.server && each.status === status)
      .map(({ startedAt, endedAt }) => {
        const [from, until] = [x(Date.parse(startedAt)), x(endedAt === null ? end : Date.parse(endedAt))];
        return `M${from.toFixed(1)} 0H${Math.max(until, from + 1).toFixed(1)}V12H${from.toFixed(1)}z`;
      })
      .join("");
  return (
    <svg class="lane" viewBox={`0 0 ${WIDTH} 12`} preserveAspectRatio="none" aria-hidden="true">
      {of.coverage > 0 && <path class="up" d={`M0 0H${WIDTH}V12H0z`} />}
      {(["unknown", "degraded", "down"] as const).map((status) => (
        <path key={status} class={status} d={path(status)} />
      ))}
      {timeTicks(start, end, 8).map(({ at }) => (
        <path key={at} class="tick" d={`M${x(at)} 0v12`} />
      ))}
    </svg>
  );
}
