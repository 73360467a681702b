import type { AvailabilityRecord, OutageRecord } from "../../domain/outages.ts";
import { duration } from "../format.ts";
import { type Stretch, stretch, Timeline } from "../parts/bar.tsx";
import { Figure, Newest } from "../parts/figure.tsx";
import { asPercent, State } from "../parts/marks.tsx";
import { askedHere, coveredIn, PastHead, rangeHere } from "../parts/past-head.tsx";
import { Rows } from "../parts/rows.tsx";
import { OUTAGE_WORDS } from "../past-rows.ts";
import { isCovered, orUnknown } from "../series.ts";

const MARKS = { down: "crit", degraded: "warn", unknown: "unknown" } as const;

export function Outages() {
  const range = rangeHere("30d");
  return (
    <>
      <PastHead range={range} />
      <Figure
        title="Available"
        path="/api/licenses/outages"
        query={{ ...askedHere(range), limit: "10000" }}
        note={({ servers }) => coveredIn(range, servers)}
      >
        {({ servers, outages, total, ...asked }) => (
          <>
            <Newest shown={outages.length} total={total} />
            <Rows
              label="Available"
              rows={servers}
              columns={[
                { head: "Server", by: ({ server }) => server },
                {
                  head: "Over time",
                  wide: true,
                  by: ({ availability }) => availability,
                  cell: (of) => <Timeline range={range} of={stretchesOf(of, outages, asked)} />,
                },
                { head: "Available", value: ({ availability }) => availability, as: (value) => `${value} %` },
                { head: "Covered", value: ({ coverage }) => 100 * coverage, as: asPercent },
                {
                  head: "Outages",
                  value: (of) => orUnknown(outages.filter((each) => each.server === of.server).length, of),
                },
              ]}
            />
            <h2>Outages</h2>
            <Rows
              label="Outages"
              none={servers.every(isCovered) ? "Every poll found every server up." : "None."}
              rows={outages}
              total={total}
              columns={[
                { head: "Server", by: ({ server }) => server },
                {
                  head: "Status",
                  by: ({ status }) => OUTAGE_WORDS[status],
                  cell: ({ status }) => <State is={MARKS[status]}>{OUTAGE_WORDS[status]}</State>,
                },
                { head: "Since", time: ({ startedAt }) => startedAt },
                { head: "Lasted", right: true, by: ({ durationSeconds }) => durationSeconds, cell: lastedOf },
                { head: "Reason", wide: true, by: ({ reason }) => reason, style: "q" },
              ]}
            />
          </>
        )}
      </Figure>
    </>
  );
}

const lastedOf = ({ endedAt, durationSeconds }: OutageRecord) =>
  `${endedAt === null ? `ongoing, ` : ""}${duration(1000 * durationSeconds)}`;

function stretchesOf(
  { server, gaps }: AvailabilityRecord,
  outages: readonly OutageRecord[],
  { start, end }: Readonly<{ start: string; end: string }>,
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
