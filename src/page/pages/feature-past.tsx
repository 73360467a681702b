import type { PoolRecord } from "../../domain/records.ts";
import type { Unit } from "../../domain/words.ts";
import type { Column } from "../columns.ts";
import { day, number } from "../format.ts";
import { now } from "../live/live.ts";
import { mayNot } from "../me.ts";
import type { FeatureRow } from "../model.ts";
import { asDuration, Known, Person } from "../parts/cells.tsx";
import { ChartFigure, idOf } from "../parts/chart-figure.tsx";
import { MOST_ROWS } from "../parts/csv.tsx";
import { DenialRows, knownIn, NotLogged } from "../parts/denial-rows.tsx";
import { Figure } from "../parts/figure.tsx";
import { HeatMap } from "../parts/heat-map.tsx";
import { Unknown } from "../parts/marks.tsx";
import { periodOf, RangeChoice, rangeHere } from "../parts/past-head.tsx";
import { Rows } from "../parts/rows.tsx";
import { sessionBegin } from "../past-rows.ts";
import { DAY_MS, type Range, rangeQuery, ZONE } from "../range.ts";
import { query, setQuery } from "../router.ts";
import { meanCoverage } from "../series.ts";
import { words } from "../words-pages.ts";
import { past } from "../words-past.ts";
import { SeatsNeeded } from "./seats-needed.tsx";

export const rangeOfPage = () => rangeHere("24h");

/** The hours of the week and the needed seats require more than a day. */
function monthOfPage(): Range {
  const range = rangeOfPage();
  if (range.word !== "24h" && range.word !== "7d") return range;
  return { start: range.end - 30 * DAY_MS, end: range.end, word: "30d" };
}

/** Shows the use of a feature over time and by hours of the week. */
export function FeaturePast({ row }: { readonly row: FeatureRow }) {
  const [range, month] = [rangeOfPage(), monthOfPage()];
  return (
    <>
      <ChartFigure
        row={row}
        range={range}
        id="seats"
        title={range.word === null ? past.seatsInUse : past.lastRange(past.ranges[range.word])}
        aside={<RangeChoice range={range} />}
      />
      <Figure
        id="week"
        title={past.week}
        path="/api/licenses/heatmap"
        query={{ ...idOf(row), ...rangeQuery(month), timezone: ZONE }}
        note={({ cells }) => past.weekOf(periodOf(month), meanCoverage(cells))}
      >
        {({ cells }) => <HeatMap cells={cells} total={row.feature.total} unit={row.feature.unit} />}
      </Figure>
    </>
  );
}

/** Links to the parts of the page on a phone. */
export function Jumps() {
  return (
    <nav class="tabs jump" aria-label={past.onThisPage}>
      {(["who", "seats", "week", "more"] as const).map((id) => (
        <button key={id} type="button" onClick={() => document.getElementById(id)?.scrollIntoView()}>
          {past.jumps[id]}
        </button>
      ))}
    </nav>
  );
}

/** Tabs of a feature; the address has the open one. */
export function FeatureTabs({ row }: { readonly row: FeatureRow }) {
  const tabs = TABS.filter((each) => !mayNot("holders") || (each !== "sessions" && each !== "denials"));
  const tab = tabs.find((each) => each === query.value.get("tab")) ?? "seats";
  const Panel = PANELS[tab];
  return (
    <>
      <div id="more" class="tabs" role="group" aria-label={past.moreOf(row.feature.name)}>
        {tabs.map((each) => (
          <button
            key={each}
            type="button"
            aria-pressed={each === tab}
            onClick={() => setQuery({ tab: each }, true)}
          >
            {past.tabs[each]}
          </button>
        ))}
      </div>
      <Panel key={tab} id={idOf(row)} unit={row.feature.unit} range={monthOfPage()} />
    </>
  );
}

interface PanelProps {
  readonly id: ReturnType<typeof idOf>;
  readonly unit: Unit;
  readonly range: Range;
}

const PANELS = { seats: Seats, sessions: Sessions, denials: Denials, pools: Pools };
const TABS = ["seats", "sessions", "denials", "pools"] as const;

function Seats({ id, range }: PanelProps) {
  return (
    <Figure
      title={past.tabs.seats}
      path="/api/licenses/efficiency"
      query={{ ...id, ...rangeQuery(range) }}
      note={({ features }) => past.covered(periodOf(range), meanCoverage(features))}
    >
      {({ features: [found] }) =>
        found === undefined || found.coverage === 0 ? (
          <p class="q">{past.noCoverage}</p>
        ) : (
          <SeatsNeeded row={found} />
        )
      }
    </Figure>
  );
}

function Sessions({ id, unit, range }: PanelProps) {
  return (
    <Figure
      title={past.tabs.sessions}
      path="/api/licenses/sessions"
      query={{ ...id, ...rangeQuery(range), limit: `${MOST_ROWS}` }}
      note={({ total }) => `${periodOf(range)}, ${number(total)}`}
    >
      {({ sessions, total }) => (
        <Rows
          label={past.tabs.sessions}
          rows={sessions}
          total={total}
          columns={[
            { head: past.groups.user, by: ({ user }) => user, cell: (each) => <Person {...each} /> },
            {
              head: past.groups.host,
              wide: true,
              by: ({ host }) => host,
              cell: ({ host }) => <span class="m">{host}</span>,
            },
            { head: words.units[unit], value: ({ count }) => count },
            { head: past.since, time: (session) => new Date(sessionBegin(session)).toISOString() },
            { head: past.until, time: ({ endedAt }) => endedAt, otherwise: past.goesOn, wide: true },
            { head: past.held, value: ({ durationSeconds }) => durationSeconds, as: asDuration },
          ]}
        />
      )}
    </Figure>
  );
}

function Denials({ id, range }: PanelProps) {
  return (
    <Figure
      title={past.tabs.denials}
      path="/api/licenses/denials"
      query={{ ...id, ...rangeQuery(range), limit: `${MOST_ROWS}` }}
      note={(answer) => knownIn(range, answer)}
    >
      {(answer) => (
        <>
          <NotLogged logging={answer.logging} start={range.start} />
          <DenialRows range={range} answer={answer} />
        </>
      )}
    </Figure>
  );
}

function Pools({ id, unit }: PanelProps) {
  return (
    <Figure title={past.tabs.pools} path="/api/licenses/features" query={id} note={() => past.now}>
      {({ features: [found] }) => (
        <Rows label={past.tabs.pools} rows={found?.pools ?? []} columns={poolColumns(unit)} />
      )}
    </Figure>
  );
}

const poolColumns = (unit: Unit): readonly Column<PoolRecord>[] => [
  { head: past.pool, by: ({ id }) => id, cell: ({ id }) => <span class="m">{id}</span> },
  {
    head: past.version,
    wide: true,
    by: ({ version }) => version,
    cell: ({ version }) => version ?? <Unknown />,
  },
  { head: past.kind, wide: true, by: ({ kind }) => kind, cell: ({ kind }) => kind },
  {
    head: past.vendorString,
    wide: true,
    by: ({ vendorString }) => vendorString,
    cell: ({ vendorString }) => vendorString,
  },
  { head: past.inUse, value: ({ used }) => used },
  {
    head: words.units[unit],
    right: true,
    by: ({ total }) => total,
    cell: ({ unlimited, total }) => (unlimited ? words.noLimit : <Known value={total} />),
  },
  {
    head: past.expires,
    right: true,
    by: ({ expiresOn }) => expiresOn,
    cell: ({ permanent, expiresOn }) => {
      if (permanent) return words.permanent;
      return expiresOn === null ? <Unknown /> : day(expiresOn, now.peek());
    },
  },
];
