import type { PoolRecord } from "../../domain/records.ts";
import { day, moment, number } from "../format.ts";
import { now } from "../live/live.ts";
import { mayNot } from "../me.ts";
import type { FeatureRow } from "../model.ts";
import { asDuration, Person } from "../parts/cells.tsx";
import { ChartFigure, idOf } from "../parts/chart-figure.tsx";
import { DenialRows } from "../parts/denial-rows.tsx";
import { Figure, Rows } from "../parts/figure.tsx";
import { HeatMap } from "../parts/heat-map.tsx";
import { Unknown } from "../parts/marks.tsx";
import { RangeChoice, rangeHere } from "../parts/range-choice.tsx";
import { SeatsNeeded } from "../parts/seats-needed.tsx";
import { type Range, rangeInWords, rangeQuery, ZONE } from "../range.ts";
import { query, setQuery } from "../router.ts";
import { meanCoverage } from "../series.ts";
import { past } from "../words-past.ts";

export const rangeOfPage = () => rangeHere("24h");
/** The week and the seats need more than a day. */
const atLeast30 = (range: Range): Range =>
  range.word === "24h" || range.word === "7d" ? rangeHere30() : range;
const rangeHere30 = () => ({ start: now.peek() - 30 * 86_400_000, end: now.peek(), word: "30d" }) as const;

/** How a feature was used: over time, and by the hours of the week. */
export function FeaturePast({ row }: { readonly row: FeatureRow }) {
  const range = rangeOfPage();
  const id = idOf(row);
  const week = atLeast30(range);
  return (
    <>
      <ChartFigure
        row={row}
        range={range}
        title={range.word === null ? past.seatsInUse : past.lastRange(past.ranges[range.word])}
        aside={<RangeChoice range={range} />}
      />
      <Figure
        id="week"
        title={past.week}
        path="/api/licenses/heatmap"
        query={{ ...id, ...rangeQuery(week), timezone: ZONE }}
        note={({ cells }) => past.weekOf(rangeInWords(week, now.peek()), meanCoverage(cells))}
      >
        {({ cells }) => <HeatMap cells={cells} total={row.feature.total} />}
      </Figure>
    </>
  );
}

/** On a phone: to the parts of the page, which are one below the other there. */
export function Jumps() {
  return (
    <nav class="jump" aria-label={past.onThisPage}>
      {(["who", "seats", "week", "more"] as const).map((id) => (
        <button key={id} type="button" onClick={() => document.getElementById(id)?.scrollIntoView()}>
          {past.jumps[id]}
        </button>
      ))}
    </nav>
  );
}

const TABS = ["seats", "sessions", "denials", "pools", "expiry"] as const;

/** More about a feature, one thing at a time; which one stands in the address. */
export function FeatureTabs({ row }: { readonly row: FeatureRow }) {
  const wanted = query.value.get("tab");
  const tabs = TABS.filter((each) => !mayNot("holders") || (each !== "sessions" && each !== "denials"));
  const tab = tabs.find((each) => each === wanted) ?? "seats";
  const move = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by === undefined) return;
    const next = tabs[(tabs.indexOf(tab) + by + tabs.length) % tabs.length] ?? tab;
    setQuery({ tab: next });
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <>
      <div id="more" class="tabs" role="tablist" aria-label={past.moreOf(row.feature.name)}>
        {tabs.map((each) => (
          <button
            key={each}
            id={`tab-${each}`}
            type="button"
            role="tab"
            aria-selected={each === tab}
            aria-controls="panel"
            tabIndex={each === tab ? 0 : -1}
            onClick={() => setQuery({ tab: each }, true)}
            onKeyDown={move}
          >
            {past.tabs[each]}
          </button>
        ))}
      </div>
      <div id="panel" role="tabpanel" aria-labelledby={`tab-${tab}`}>
        <Panel key={tab} tab={tab} row={row} />
      </div>
    </>
  );
}

function Panel({ tab, row }: { readonly tab: (typeof TABS)[number]; readonly row: FeatureRow }) {
  const id = idOf(row);
  const range = atLeast30(rangeOfPage());
  const asked = { ...id, ...rangeQuery(range), limit: "100" };
  const period = rangeInWords(range, now.peek());
  const label = past.tabs[tab];
  if (tab === "seats")
    return (
      <Figure title={period} path="/api/licenses/efficiency" query={{ ...id, ...rangeQuery(range) }}>
        {({ features: [found] }) =>
          found === undefined ? <p class="q">{past.noCoverage}</p> : <SeatsNeeded row={found} />
        }
      </Figure>
    );
  if (tab === "sessions")
    return (
      <Figure title={period} path="/api/licenses/sessions" query={asked} note={({ total }) => number(total)}>
        {({ sessions, total }) => (
          <Rows
            label={label}
            rows={sessions}
            total={total}
            columns={[
              { head: past.person, cell: (each) => <Person {...each} /> },
              { head: past.host, wide: true, cell: ({ host }) => <span class="m">{host}</span> },
              { head: past.seats, value: ({ count }) => count },
              {
                head: past.from,
                right: true,
                cell: ({ startedAt, firstSeenAt }) =>
                  moment(Date.parse(startedAt ?? firstSeenAt), now.peek()),
              },
              {
                head: past.until,
                right: true,
                wide: true,
                cell: ({ endedAt }) =>
                  endedAt === null ? past.goesOn : moment(Date.parse(endedAt), now.peek()),
              },
              { head: past.held, value: ({ durationSeconds }) => durationSeconds, as: asDuration },
            ]}
          />
        )}
      </Figure>
    );
  if (tab === "denials")
    return (
      <Figure
        title={period}
        path="/api/licenses/denials"
        query={asked}
        note={({ total, logging: [logging] }) => logging?.state === "on" && number(total)}
      >
        {(answer) => <DenialRows answer={answer} />}
      </Figure>
    );
  if (tab === "pools")
    return (
      <Figure title={past.now} path="/api/licenses/features" query={id}>
        {({ features }) => <Pools pools={features[0]?.pools ?? []} />}
      </Figure>
    );
  return (
    <Figure title={past.now} path="/api/licenses/expirations" query={{ ...id, permanent: "true" }}>
      {({ expirations }) => (
        <Rows
          label={label}
          rows={expirations}
          columns={[
            { head: past.pool, cell: ({ pool }) => <span class="m">{pool}</span> },
            {
              head: past.seats,
              right: true,
              cell: ({ total }) => (total === null ? past.noLimit : number(total)),
            },
            {
              head: past.expires,
              right: true,
              cell: ({ expiresOn }) => (expiresOn === null ? past.permanent : day(expiresOn, now.peek())),
            },
            { head: past.daysLeft, value: ({ daysLeft }) => daysLeft },
          ]}
        />
      )}
    </Figure>
  );
}

function Pools({ pools }: { readonly pools: readonly PoolRecord[] }) {
  return (
    <Rows
      label={past.tabs.pools}
      rows={pools}
      columns={[
        { head: past.pool, cell: ({ id }) => <span class="m">{id}</span> },
        { head: past.version, wide: true, cell: ({ version }) => version ?? <Unknown /> },
        { head: past.kind, wide: true, cell: ({ kind }) => kind },
        { head: past.vendorString, wide: true, cell: ({ vendorString }) => vendorString },
        { head: past.inUse, value: ({ used }) => used },
        {
          head: past.seats,
          right: true,
          cell: ({ unlimited, total }) =>
            unlimited ? past.noLimit : total === null ? <Unknown /> : number(total),
        },
        {
          head: past.expires,
          right: true,
          cell: ({ permanent, expiresOn }) =>
            permanent ? past.permanent : expiresOn === null ? <Unknown /> : day(expiresOn, now.peek()),
        },
      ]}
    />
  );
}
