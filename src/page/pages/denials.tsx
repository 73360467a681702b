import type { DenialRecord } from "../../domain/denials.ts";
import type { Answers } from "../api.ts";
import { moment, number } from "../format.ts";
import { now } from "../live/live.ts";
import { FeatureLink, Person } from "../parts/cells.tsx";
import { DenialRows, NotLogged, reasonOf } from "../parts/denial-rows.tsx";
import { type Column, Figure, Rows } from "../parts/figure.tsx";
import { PastHead } from "../parts/past-head.tsx";
import { rangeHere } from "../parts/range-choice.tsx";
import { type DenialGroup, grouped } from "../past-rows.ts";
import { type Range, rangeInWords, rangeQuery } from "../range.ts";
import { past } from "../words-past.ts";
import { ServerChoice, serverHere } from "./history.tsx";

/** The most rows that one answer has. */
const MOST = 10_000;
const SHOWN = 100;

/** Who was denied what, and what came of it. */
export function Denials() {
  const range = rangeHere("30d");
  return (
    <>
      <PastHead range={range}>
        <ServerChoice />
      </PastHead>
      <Figure
        title={past.perFeature}
        path="/api/licenses/denials"
        query={{ ...serverHere(), ...rangeQuery(range), limit: `${MOST}` }}
        note={() => rangeInWords(range, now.peek())}
      >
        {(answer) => <Groups answer={answer} range={range} />}
      </Figure>
    </>
  );
}

type Answer = Answers["/api/licenses/denials"];

function Groups({ answer, range }: { readonly answer: Answer; readonly range: Range }) {
  const { denials, total, logging } = answer;
  const of = (key: (row: DenialRecord) => string) => grouped(denials, key);
  const isKnown = logging.some(({ state }) => state === "on");
  return (
    <>
      <NotLogged logging={logging} start={range.start} />
      {total > denials.length && (
        <p class="why n-full">{past.newest(number(denials.length), number(total))}</p>
      )}
      {isKnown && (
        <>
          <Rows
            label={past.perFeature}
            none={past.noDenials}
            rows={of(({ server, daemon, feature }) => JSON.stringify([server, daemon, feature]))}
            columns={[
              { head: past.feature, cell: ({ first }) => <FeatureLink {...first} /> },
              { head: past.overTime, wide: true, cell: ({ rows }) => <Ticks rows={rows} range={range} /> },
              {
                head: past.deniedHead,
                right: true,
                cell: ({ denied }) => <b class={denied > 0 ? "n-crit" : "q"}>{number(denied)}</b>,
              },
              { head: past.waited, value: ({ queued }) => queued },
              { head: past.grantedLater, value: ({ granted_later }) => granted_later },
              {
                head: past.people,
                value: ({ rows, first }) =>
                  first.feature === null ? null : new Set(rows.map(({ user }) => user)).size,
                wide: true,
              },
              {
                head: past.last,
                right: true,
                wide: true,
                cell: ({ first }) => moment(Date.parse(first.timestamp), now.peek()),
              },
            ]}
          />
          <div class="halves">
            <div>
              <h2>{past.byReason}</h2>
              <Rows
                label={past.byReason}
                rows={of(reasonOf)}
                columns={[
                  { head: past.reason, cell: ({ first }) => reasonOf(first) || past.noReason },
                  ...COUNTS,
                ]}
              />
            </div>
            <div>
              <h2>{past.byPerson}</h2>
              <Rows
                label={past.byPerson}
                rows={grouped(
                  denials.filter(({ user }) => user !== null),
                  ({ user }) => user ?? "",
                )}
                none={past.noNames}
                columns={[{ head: past.person, cell: ({ first }) => <Person {...first} /> }, ...COUNTS]}
              />
            </div>
          </div>
          <h2>{past.requests}</h2>
          <DenialRows isOfMany answer={{ denials: denials.slice(0, SHOWN), total, logging: [] }} />
        </>
      )}
    </>
  );
}

const COUNTS: readonly Column<DenialGroup>[] = [
  { head: past.deniedHead, value: ({ denied }) => denied },
  { head: past.waited, value: ({ queued }) => queued },
  { head: past.grantedLater, value: ({ granted_later }) => granted_later, wide: true },
];

const WIDTH = 1000;

/** Each request at its time; the columns beside it have the numbers. */
function Ticks({
  rows,
  range: { start, end },
}: {
  readonly rows: readonly DenialRecord[];
  readonly range: Range;
}) {
  const path = (isDenied: boolean) =>
    rows
      .filter(({ outcome }) => (outcome === "denied") === isDenied)
      .map(
        ({ timestamp }) => `M${Math.round((WIDTH * (Date.parse(timestamp) - start)) / (end - start))} 0v12`,
      )
      .join("");
  return (
    <svg class="ticks" viewBox={`0 0 ${WIDTH} 12`} preserveAspectRatio="none" aria-hidden="true">
      <path class="w" d={path(false)} />
      <path class="d" d={path(true)} />
    </svg>
  );
}
