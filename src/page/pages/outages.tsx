import type { AvailabilityRecord, OutageRecord } from "../../domain/outages.ts";
import { duration } from "../format.ts";
import { asPercent } from "../parts/cells.tsx";
import { Figure, Newest } from "../parts/figure.tsx";
import { State } from "../parts/marks.tsx";
import { askedHere, PastHead, periodOf, rangeHere } from "../parts/past-head.tsx";
import { Rows } from "../parts/rows.tsx";
import { type Stretch, stretch, Timeline } from "../parts/timeline.tsx";
import { isCovered, meanCoverage, orUnknown } from "../series.ts";
import { past } from "../words-past.ts";

const MARKS = { down: "crit", degraded: "warn", unknown: "unknown" } as const;

/** Shows outages and the covered time. */
export function Outages() {
  const range = rangeHere("30d");
  return (
    <>
      <PastHead range={range} />
      <Figure
        title={past.availability}
        path="/api/licenses/outages"
        query={{ ...askedHere(range), limit: "10000" }}
        note={({ servers }) => past.covered(periodOf(range), meanCoverage(servers))}
      >
        {({ servers, outages, total, ...asked }) => (
          <>
            <Newest shown={outages.length} total={total} />
            <Rows
              label={past.availability}
              rows={servers}
              columns={[
                { head: past.groups.server, by: ({ server }) => server, cell: ({ server }) => server },
                {
                  head: past.overTime,
                  wide: true,
                  by: ({ availability }) => availability,
                  cell: (of) => <Timeline range={range} of={stretchesOf(of, outages, asked)} />,
                },
                {
                  head: past.availability,
                  value: ({ availability }) => availability,
                  as: (value) => `${value} %`,
                },
                { head: past.known, value: ({ coverage }) => 100 * coverage, as: asPercent },
                {
                  head: past.stretches,
                  value: (of) => orUnknown(outages.filter((each) => each.server === of.server).length, of),
                },
              ]}
            />
            <h2>{past.stretches}</h2>
            <Rows
              label={past.stretches}
              none={servers.every(isCovered) ? past.noOutages : past.none}
              rows={outages}
              total={total}
              columns={[
                { head: past.groups.server, by: ({ server }) => server, cell: ({ server }) => server },
                {
                  head: past.status,
                  by: ({ status }) => past.statuses[status],
                  cell: ({ status }) => <State is={MARKS[status]}>{past.statuses[status]}</State>,
                },
                { head: past.since, time: ({ startedAt }) => startedAt },
                {
                  head: past.lasted,
                  right: true,
                  by: ({ durationSeconds }) => durationSeconds,
                  cell: lastedOf,
                },
                {
                  head: past.reason,
                  wide: true,
                  by: ({ reason }) => reason,
                  cell: ({ reason }) => <span class="q">{reason}</span>,
                },
              ]}
            />
          </>
        )}
      </Figure>
    </>
  );
}

const lastedOf = ({ endedAt, durationSeconds }: OutageRecord) =>
  `${endedAt === null ? `${past.goesOn}, ` : ""}${duration(1000 * durationSeconds)}`;

/** Up is the rest of the covered time. */
function stretchesOf(
  { server, gaps }: AvailabilityRecord,
  outages: readonly OutageRecord[],
  { start, end }: { readonly start: string; readonly end: string },
): Stretch[] {
  return [
    stretch("heat-1", start, end),
    ...gaps.map(({ start, end }) => stretch("bg", start, end)),
    ...gaps.map(({ start, end }) => stretch("unread", start, end)),
    ...outages
      .filter((each) => each.server === server)
      .map(({ status, startedAt, endedAt }) => stretch(`${MARKS[status]}-mark`, startedAt, endedAt ?? end)),
  ];
}
