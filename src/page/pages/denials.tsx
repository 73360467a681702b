import type { DenialRecord, LoggingRecord } from "../../domain/denials.ts";
import { featureIdKey } from "../../domain/history.ts";
import type { Answers } from "../api.ts";
import { number } from "../format.ts";
import { type Stretch, stretch, Timeline } from "../parts/bar.tsx";
import { DenialRows, knownIn, NotLogged, reasonOf } from "../parts/denial-rows.tsx";
import { Figure, MOST_ROWS, Newest } from "../parts/figure.tsx";
import { FeatureLink, featureText, Person } from "../parts/marks.tsx";
import { askedHere, PastHead, rangeHere } from "../parts/past-head.tsx";
import { type Column, Rows } from "../parts/rows.tsx";
import { type DenialGroup, grouped, isLogged } from "../past-rows.ts";
import type { Range } from "../range.ts";

export function Denials() {
  const range = rangeHere("30d");
  return (
    <>
      <PastHead range={range} />
      <Figure
        title="By feature"
        path="/api/licenses/denials"
        query={{ ...askedHere(range), limit: `${MOST_ROWS}` }}
        note={(answer) => knownIn(range, answer)}
      >
        {(answer) => <Groups answer={answer} range={range} />}
      </Figure>
    </>
  );
}

type Answer = Answers["/api/licenses/denials"];

function Groups({ answer, range }: Readonly<{ answer: Answer; range: Range }>) {
  const { denials, total, logging } = answer;
  const isKnown = logging.some((each) => isLogged(each, range.end));
  return (
    <>
      <NotLogged logging={logging} start={range.start} />
      <Newest shown={denials.length} total={total} />
      {isKnown && (
        <>
          <Rows
            label="By feature"
            none="No request was denied."
            rows={grouped(denials, featureIdKey)}
            columns={featureColumns(range, logging)}
          />
          <div class="halves">
            <div>
              <h2>By reason</h2>
              <Rows
                label="By reason"
                rows={grouped(denials, reasonOf)}
                columns={[
                  {
                    head: "Reason",
                    by: ({ first }) => reasonOf(first),
                    cell: ({ first }) => reasonOf(first) || "none given",
                  },
                  ...COUNTS,
                ]}
              />
            </div>
            <div>
              <h2>By person</h2>
              <Rows
                label="By person"
                none="Names are not known."
                rows={grouped(
                  denials.filter(({ user }) => user !== null),
                  ({ user }) => user ?? "",
                )}
                columns={[
                  {
                    head: "Person",
                    by: ({ first }) => first.user,
                    cell: ({ first }) => <Person {...first} />,
                  },
                  ...COUNTS,
                ]}
              />
            </div>
          </div>
          <h2>Requests</h2>
          <DenialRows isOfMany range={range} answer={answer} />
        </>
      )}
    </>
  );
}

const COUNTS: readonly Column<DenialGroup>[] = [
  { head: "Denied", value: ({ denied }) => denied },
  { head: "Waited", value: ({ queued }) => queued },
  { head: "Granted later", value: ({ granted_later }) => granted_later, wide: true },
];

const featureColumns = (range: Range, logging: readonly LoggingRecord[]): readonly Column<DenialGroup>[] => [
  { head: "Feature", by: ({ first }) => featureText(first), cell: ({ first }) => <FeatureLink {...first} /> },
  {
    head: "Over time",
    wide: true,
    by: ({ first }) => first.timestamp,
    cell: ({ rows, first }) => (
      <Timeline range={range} of={[...unlogged(first.server, logging), ...rows.map(momentOf)]} />
    ),
  },
  {
    head: "Denied",
    right: true,
    by: ({ denied }) => denied,
    cell: ({ denied }) => <b class={denied > 0 ? "n-crit" : "q"}>{number(denied)}</b>,
  },
  ...COUNTS.slice(1),
  {
    head: "People",
    value: ({ rows, first }) => (first.feature === null ? null : new Set(rows.map(({ user }) => user)).size),
    wide: true,
  },
  { head: "Last", time: ({ first }) => first.timestamp, wide: true },
];

const momentOf = ({ timestamp, outcome }: DenialRecord): Stretch =>
  stretch(outcome === "denied" ? "crit-mark" : "full-mark", timestamp, timestamp);

const unlogged = (of: string, logging: readonly LoggingRecord[]): Stretch[] =>
  logging
    .filter(({ server }) => server === of)
    .map(({ since }) => ({ colour: "unread", from: 0, until: Date.parse(since ?? "") || 0 }));
