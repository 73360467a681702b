import type { EfficiencyRecord } from "../../domain/history-records.ts";
import type { PoolRecord } from "../../domain/records.ts";
import type { Unit } from "../../domain/words.ts";
import { mayNot } from "../api.ts";
import { capital, day, number, shortIn } from "../format.ts";
import { now } from "../live/live.ts";
import type { FeatureRow } from "../model.ts";
import { ChartFigure, idOf } from "../parts/chart-figure.tsx";
import { DenialFigure } from "../parts/denial-rows.tsx";
import { Figure, MOST_ROWS, NO_COVERAGE } from "../parts/figure.tsx";
import { HeatMap } from "../parts/heat-map.tsx";
import { asDuration, Known, Unknown } from "../parts/marks.tsx";
import { coveredIn, periodOf, RangeChoice, rangeHere } from "../parts/past-head.tsx";
import { type Column, PERSON, Rows } from "../parts/rows.tsx";
import { sessionBegin } from "../past-rows.ts";
import { DAY_MS, type Range, rangeQuery, rangeWord, ZONE } from "../range.ts";
import { query, setQuery } from "../router.ts";
import { levelsOf } from "../series.ts";
import { amount } from "../words.ts";

export const rangeOfPage = () => rangeHere("24h");

/**
 * Returns the range of the page, or a month instead of a day or a week, because the hours of the week and
 * the needed seats require more data.
 */
function monthOfPage(): Range {
  const range = rangeOfPage();
  if (range.word !== "24h" && range.word !== "7d") return range;
  return { start: range.end - 30 * DAY_MS, end: range.end, word: "30d" };
}

export function FeaturePast({ row }: Readonly<{ row: FeatureRow }>) {
  const [range, month] = [rangeOfPage(), monthOfPage()];
  return (
    <>
      <ChartFigure
        row={row}
        range={range}
        id="seats"
        title={range.word === null ? "Seats in use" : `Last ${rangeWord(range.word)}`}
        aside={<RangeChoice range={range} />}
      />
      <Figure
        id="week"
        title="Week"
        path="/api/licenses/heatmap"
        query={{ ...idOf(row), ...rangeQuery(month), timezone: ZONE }}
        note={({ cells }) => `average by hour, ${coveredIn(month, cells)}`}
      >
        {({ cells }) => <HeatMap cells={cells} total={row.feature.total} unit={row.feature.unit} />}
      </Figure>
    </>
  );
}

export function Jumps() {
  return (
    <nav class="tabs jump" aria-label="On this page">
      {(["who", "seats", "week", "more"] as const).map((id) => (
        <button key={id} type="button" onClick={() => document.getElementById(id)?.scrollIntoView()}>
          {capital(id)}
        </button>
      ))}
    </nav>
  );
}

export function FeatureTabs({ row }: Readonly<{ row: FeatureRow }>) {
  const tabs = TABS.filter((each) => !mayNot("holders") || (each !== "sessions" && each !== "denials"));
  const tab = tabs.find((each) => each === query.value.get("tab")) ?? "seats";
  const { Panel } = PANELS[tab];
  return (
    <>
      <div id="more" class="tabs" role="group" aria-label={`More about ${row.feature.name}`}>
        {tabs.map((each) => (
          <button
            key={each}
            type="button"
            aria-pressed={each === tab}
            onClick={() => setQuery({ tab: each }, true)}
          >
            {PANELS[each].title}
          </button>
        ))}
      </div>
      <Panel key={tab} id={idOf(row)} unit={row.feature.unit} range={monthOfPage()} />
    </>
  );
}

type PanelProps = Readonly<{ id: ReturnType<typeof idOf>; unit: Unit; range: Range }>;

const PANELS = {
  seats: { title: "Seats needed", Panel: Seats },
  sessions: { title: "Sessions", Panel: Sessions },
  denials: { title: "Denials", Panel: Denials },
  pools: { title: "Pools and expiry", Panel: Pools },
};
const TABS = ["seats", "sessions", "denials", "pools"] as const;

function Seats({ id, range }: PanelProps) {
  return (
    <Figure
      title="Seats needed"
      path="/api/licenses/efficiency"
      query={{ ...id, ...rangeQuery(range) }}
      note={({ features }) => coveredIn(range, features)}
    >
      {({ features: [found] }) =>
        found === undefined || found.coverage === 0 ? (
          <p class="q">{NO_COVERAGE}</p>
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
      title="Sessions"
      path="/api/licenses/sessions"
      query={{ ...id, ...rangeQuery(range), limit: `${MOST_ROWS}` }}
      note={({ total }) => `${periodOf(range)}, ${number(total)}`}
    >
      {({ sessions, total }) => (
        <Rows
          label="Sessions"
          rows={sessions}
          total={total}
          columns={[
            PERSON,
            { head: "Host", wide: true, by: ({ host }) => host, style: "m" },
            { head: capital(unit), value: ({ count }) => count },
            { head: "Since", time: (session) => new Date(sessionBegin(session)).toISOString() },
            { head: "Until", time: ({ endedAt }) => endedAt, otherwise: "ongoing", wide: true },
            { head: "Held", value: ({ durationSeconds }) => durationSeconds, as: asDuration },
          ]}
        />
      )}
    </Figure>
  );
}

function Denials({ id, range }: PanelProps) {
  return <DenialFigure title="Denials" query={{ ...id, ...rangeQuery(range) }} range={range} />;
}

function Pools({ id, unit }: PanelProps) {
  return (
    <Figure title="Pools and expiry" path="/api/licenses/features" query={id} note={() => "Now"}>
      {({ features: [found] }) => (
        <Rows label="Pools and expiry" rows={found?.pools ?? []} columns={poolColumns(unit)} />
      )}
    </Figure>
  );
}

const poolColumns = (unit: Unit): readonly Column<PoolRecord>[] => [
  { head: "Pool", by: ({ id }) => id, style: "m" },
  {
    head: "Version",
    wide: true,
    by: ({ version }) => version,
    cell: ({ version }) => version ?? <Unknown />,
  },
  { head: "Kind", wide: true, by: ({ kind }) => kind },
  { head: "Vendor string", wide: true, by: ({ vendorString }) => vendorString },
  { head: "In use", value: ({ used }) => used },
  {
    head: capital(unit),
    right: true,
    by: ({ total }) => total,
    cell: ({ unlimited, total }) => (unlimited ? "no limit" : <Known value={total} />),
  },
  {
    head: "Expires",
    right: true,
    by: ({ expiresOn }) => expiresOn,
    cell: ({ permanent, expiresOn }) => {
      if (permanent) return "permanent";
      return expiresOn === null ? <Unknown /> : day(expiresOn, now.peek());
    },
  },
];

const DEMAND = {
  log: "Unmet requests are known from the debug log.",
  queue: "Unmet requests are known only from the queue.",
  none: "Unmet requests are not known.",
};

/** Shows how long each number of seats was in use, and the effect of fewer or more seats. */
function SeatsNeeded({ row }: Readonly<{ row: EfficiencyRecord }>) {
  const { seats, whatIf, demand, unit } = row;
  const total = row.total ?? 0;
  const levels = levelsOf(seats, row.total);
  const most = Math.max(1, ...levels.map(({ percent }) => percent));
  const by = (levels[0]?.to ?? 0) + 1;
  const histogram = `Percent of the time with this many ${unit} in use${by > 1 ? `, ${by} per bar` : ""}`;
  const enough = levels.find(({ below }) => below >= 95);
  return (
    <div class="halves">
      <figure>
        <ol class="histo" aria-label={histogram}>
          {levels.map(({ from, percent, isFull }, at) => (
            <li key={from}>
              {percent < 0.5 && percent > 0 ? "<1" : number(Math.round(percent))}
              <i
                style={{
                  height: `${(100 * percent) / most}px`,
                  background: isFull ? "var(--full-mark)" : "var(--use)",
                }}
              />
              {/* If numbers are long, only every third bar has one, because `120K` does not fit below each bar. */}
              <span class="q">{unit === "seats" || at % 3 === 0 ? shortIn(unit)(from) : "\u00a0"}</span>
            </li>
          ))}
        </ol>
        <figcaption class="q">{histogram}</figcaption>
      </figure>
      <div>
        <p class="facts">
          {enough !== undefined && <span>{amount(enough.to, unit)} were enough for 95 % of the time.</span>}
          <span>{DEMAND[demand.knownFrom]}</span>
          {demand.knownFrom !== "none" && (
            <span>
              {demand.deniedRequests === null ? "Not known how many" : number(demand.deniedRequests)} denied,{" "}
              {demand.queuedRequests === null ? "not known how many" : number(demand.queuedRequests)} queued.
            </span>
          )}
        </p>
        {whatIf.length === 0 && (
          <p class="q">
            No estimate for other numbers of seats: the feature is unlimited, or its total is unknown.
          </p>
        )}
        {[
          { tried: whatIf.filter((each) => each.total < total), affected: "Sessions affected" },
          { tried: whatIf.filter((each) => each.total > total), affected: "Requests still denied or queued" },
        ].map(
          ({ tried, affected }) =>
            tried.length > 0 && (
              <Rows
                key={affected}
                label={affected}
                rows={tried}
                columns={[
                  {
                    head: "With",
                    by: ({ total }) => total,
                    cell: (row) => (
                      <>
                        {amount(row.total, unit)}{" "}
                        <span class="q">
                          {`(${number(Math.abs(row.total - total))} ${row.total > total ? "more" : "fewer"})`}
                        </span>
                      </>
                    ),
                  },
                  { head: "Full for", value: ({ saturatedSeconds }) => saturatedSeconds, as: asDuration },
                  { head: affected, value: ({ affectedSessions }) => affectedSessions },
                ]}
              />
            ),
        )}
      </div>
    </div>
  );
}
