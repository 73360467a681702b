import { useMemo } from "preact/hooks";
import type { EfficiencyRecord, StatsRecord, UsageRecord } from "../../domain/history-records.ts";
import type { Answers, Query } from "../api.ts";
import { byName, duration, moment, number } from "../format.ts";
import { now, site } from "../live/live.ts";
import { allFeatures, type FeatureRow } from "../model.ts";
import { FeatureLink, Known, Person, StatsFacts } from "../parts/cells.tsx";
import { Chart } from "../parts/chart.tsx";
import { type Column, Figure, Rows } from "../parts/figure.tsx";
import { HeatMap } from "../parts/heat-map.tsx";
import { PastHead, reportHere } from "../parts/past-head.tsx";
import { rangeHere, zoom } from "../parts/range-choice.tsx";
import { Choice } from "../parts/search-field.tsx";
import { before, type Range, rangeInWords, rangeQuery, ZONE } from "../range.ts";
import { go, linkTo, query } from "../router.ts";
import { fewerSeats, meanCoverage, seriesOf } from "../series.ts";
import { past } from "../words-past.ts";

/** Who used what, how busy seats were, at which hours, and one thing beside another. */
export function History() {
  const report = reportHere();
  if (report === "usage") return <Usage />;
  if (report === "efficiency") return <Efficiency />;
  return report === "heatmap" ? <Hours /> : <Compare />;
}

/** The server of the address, for a question. */
export function serverHere(): Query {
  const server = query.value.get("server");
  return server === null ? {} : { server };
}

export const ServerChoice = () => (
  <Choice name="server" any={past.anyServer} values={[...(site.value?.keys() ?? [])]} word={past.server} />
);

/** Of an answer: what is kept may begin later than what was asked for. */
const periodOf = ({ start, end }: { readonly start: string; readonly end: string }) =>
  rangeInWords({ start: Date.parse(start), end: Date.parse(end) }, now.peek());

const KEYS = ["user", "host", "feature", "product", "server", "day"] as const;

function Usage() {
  const range = rangeHere("30d");
  const labels = [...new Set([...(site.value?.values() ?? [])].flatMap(({ labels }) => Object.keys(labels)))];
  const keys = [...KEYS.slice(1), ...labels.sort(byName).map((name) => `label:${name}`)];
  const by = query.value.get("group_by") ?? KEYS[0];
  const asked = { group_by: by, ...serverHere(), ...rangeQuery(range), timezone: ZONE, limit: "100" };
  return (
    <>
      <PastHead range={range}>
        <Choice name="group_by" any={past.by(KEYS[0])} values={keys} word={past.by} />
        <ServerChoice />
      </PastHead>
      <Figure title={past.by(by)} path="/api/licenses/usage" query={asked} note={periodOf}>
        {({ groups, total }) => <UsageRows by={by} groups={groups} total={total} />}
      </Figure>
    </>
  );
}

function UsageRows(props: {
  readonly by: string;
  readonly groups: readonly UsageRecord[];
  readonly total: number;
}) {
  const { by, groups, total } = props;
  const most = Math.max(1e-9, ...groups.map(({ heldSeatHours }) => heldSeatHours));
  const nameOf = (row: UsageRecord) => {
    if (by === "feature") return <FeatureLink {...row} />;
    const name = row[by as "user"] ?? null;
    return by === "user" ? <Person user={name} /> : (name ?? <span class="q">{past.without(by)}</span>);
  };
  return (
    <Rows
      label={past.by(by)}
      rows={groups}
      total={total}
      columns={[
        { head: past.groups[by as "user"] ?? by, cell: nameOf },
        {
          head: past.share,
          wide: true,
          cell: ({ heldSeatHours }) => (
            <i class="share" style={{ width: `${(100 * heldSeatHours) / most}%` }} />
          ),
        },
        { head: past.seatHours, right: true, cell: ({ heldSeatHours }) => number(Math.round(heldSeatHours)) },
        { head: past.peak, right: true, cell: ({ peakHeld }) => number(peakHeld) },
        { head: past.sessions, right: true, cell: ({ sessions }) => number(sessions) },
        { head: past.people, right: true, wide: true, cell: ({ uniqueUsers }) => number(uniqueUsers) },
        {
          head: past.lastUsed,
          right: true,
          wide: true,
          cell: ({ lastUsedAt }) => moment(Date.parse(lastUsedAt), now.peek()),
        },
      ]}
    />
  );
}

const FEWER = ["1", "2", "5", "10 %", "20 %", "50 %"] as const;

function Efficiency() {
  const range = rangeHere("30d");
  const fewer = query.value.get("fewer") ?? FEWER[0];
  const asked = { ...serverHere(), ...rangeQuery(range), limit: "1000" };
  return (
    <>
      <PastHead range={range}>
        <Choice name="fewer" any={past.fewer(FEWER[0])} values={FEWER.slice(1)} word={past.fewer} />
        <ServerChoice />
      </PastHead>
      <Figure
        title={past.useOfSeats}
        path="/api/licenses/stats"
        query={{ ...asked, series: "false", sort: "-averageUtilization" }}
        note={(answer) => past.covered(periodOf(answer), meanCoverage(answer.features))}
      >
        {({ features, total }) => (
          <Rows label={past.useOfSeats} rows={features} total={total} columns={STATS} />
        )}
      </Figure>
      <Figure
        title={past.eachSeat}
        path="/api/licenses/efficiency"
        query={asked}
        note={(answer) => past.ofCovered(periodOf(answer))}
      >
        {({ features, total }) => (
          <Rows label={past.eachSeat} rows={features} total={total} columns={seatColumns(fewer)} />
        )}
      </Figure>
    </>
  );
}

const FEATURE: Column<StatsRecord | EfficiencyRecord> = {
  head: past.feature,
  cell: (row) => <FeatureLink {...row} />,
};
const TOTAL: Column<{ readonly total: number | null }> = {
  head: past.seats,
  right: true,
  cell: ({ total }) => <Known value={total} />,
};
const percent = (value: number | null) => (
  <Known value={value} as={(known) => `${number(Math.round(known))} %`} />
);
const seconds = (value: number | null) => <Known value={value} as={(known) => duration(1000 * known)} />;

const FIGURES: readonly Column<StatsRecord>[] = [
  { head: past.peak, right: true, cell: ({ peakUsed }) => <Known value={peakUsed} /> },
  { head: past.p95, right: true, cell: ({ p95Used }) => <Known value={p95Used} /> },
  { head: past.onAverage, right: true, cell: ({ averageUtilization }) => percent(averageUtilization) },
  { head: past.fullFor, right: true, wide: true, cell: ({ saturatedSeconds }) => seconds(saturatedSeconds) },
  { head: past.people, right: true, wide: true, cell: ({ uniqueUsers }) => <Known value={uniqueUsers} /> },
  { head: past.deniedHead, right: true, wide: true, cell: ({ denials }) => <Known value={denials} /> },
  { head: past.known, right: true, wide: true, cell: ({ coverage }) => percent(Math.floor(100 * coverage)) },
];
const STATS = [FEATURE, TOTAL, ...FIGURES];

/** How busy the seats in the middle and at the end were, and what it would have cost to have fewer. */
function seatColumns(fewer: string): readonly Column<EfficiencyRecord>[] {
  const seatAt =
    (share: number) =>
    ({ seats, total }: EfficiencyRecord) => {
      const seat = Math.max(1, Math.ceil((total ?? 0) * share));
      return total === null
        ? percent(null)
        : percent(seats.findLast((each) => each.seat <= seat)?.busyPercent ?? null);
    };
  const tried = (row: EfficiencyRecord) => fewerSeats(row, fewer);
  return [
    FEATURE,
    { ...TOTAL, wide: true },
    { head: past.halfBusy, right: true, wide: true, cell: seatAt(0.5) },
    { head: past.lastBusy, right: true, cell: seatAt(1) },
    { head: past.wouldHave, right: true, cell: (row) => <Known value={tried(row)?.total ?? null} /> },
    {
      head: past.fullThen,
      right: true,
      wide: true,
      cell: (row) => seconds(tried(row)?.saturatedSeconds ?? null),
    },
    {
      head: past.affected,
      right: true,
      cell: (row) => <Known value={tried(row)?.affectedSessions ?? null} />,
    },
    { head: past.askedFor, wide: true, cell: ({ demand }) => past.demandShort[demand.knownFrom] },
  ];
}

function Hours() {
  const range = rangeHere("30d");
  const asked = { ...serverHere(), ...rangeQuery(range), timezone: ZONE };
  return (
    <>
      <PastHead range={range}>
        <ServerChoice />
      </PastHead>
      <Figure
        title={past.week}
        path="/api/licenses/heatmap"
        query={asked}
        note={(answer) =>
          past.together(answer.features, past.weekOf(periodOf(answer), meanCoverage(answer.cells)))
        }
      >
        {({ cells }) => (
          <div class="big">
            <HeatMap cells={cells} total={null} />
          </div>
        )}
      </Figure>
    </>
  );
}

const MOST_COMPARED = 8;

function Compare() {
  const range = rangeHere("30d");
  const rows = allFeatures(site.value ?? new Map()).sort((a, b) => byName(a.feature.name, b.feature.name));
  const ids = query.value.getAll("feature").slice(0, MOST_COMPARED);
  const chosen = ids.flatMap((id) => rows.find((row) => row.id === id) ?? []);
  const withBefore = query.value.get("before") === "1";
  return (
    <>
      <PastHead range={range}>
        <FeatureChoice rows={rows} chosen={ids} />
        <Choice name="before" any={past.thisAlone} values={["1"]} word={() => past.withBefore} />
      </PastHead>
      {chosen.length === 0 && <p class="sec q">{past.chooseFeatures}</p>}
      {chosen.map((row) => (
        <div key={row.id} class={`cols ${withBefore ? "c2" : ""}`}>
          <Compared row={row} range={range} />
          {withBefore && <Compared row={row} range={before(range)} />}
        </div>
      ))}
    </>
  );
}

/** The features of the address: each can leave, and another one come. */
function FeatureChoice({
  rows,
  chosen,
}: {
  readonly rows: readonly FeatureRow[];
  readonly chosen: readonly string[];
}) {
  const to = (feature: readonly string[]) =>
    linkTo("history", { ...Object.fromEntries(query.value), feature: [...feature] });
  const names = new Map(rows.map(({ id, server, feature }) => [id, `${feature.name} (${server.id})`]));
  return (
    <>
      {chosen.map((id) => (
        <a key={id} class="chip" href={to(chosen.filter((each) => each !== id))}>
          {names.get(id) ?? id} <span aria-hidden="true">×</span>
          <span class="vh">{past.takeAway}</span>
        </a>
      ))}
      {chosen.length < MOST_COMPARED && (
        <select
          class="chip"
          aria-label={past.addFeature}
          value=""
          onChange={({ currentTarget }) => go(to([...chosen, currentTarget.value]))}
        >
          <option value="">{past.addFeature}</option>
          {rows
            .filter(({ id }) => !chosen.includes(id))
            .map(({ id }) => (
              <option key={id} value={id}>
                {names.get(id)}
              </option>
            ))}
        </select>
      )}
    </>
  );
}

function Compared({ row, range }: { readonly row: FeatureRow; readonly range: Range }) {
  const { server, feature } = row;
  const id = { server: server.id, daemon: feature.daemon, feature: feature.name };
  return (
    <Figure
      title={feature.name}
      path="/api/licenses/stats"
      query={{ ...id, ...rangeQuery(range), timezone: ZONE }}
      note={(answer) => past.covered(periodOf(answer), meanCoverage(answer.features))}
    >
      {(answer) => <ComparedChart answer={answer} />}
    </Figure>
  );
}

function ComparedChart({ answer }: { readonly answer: Answers["/api/licenses/stats"] }) {
  const stats = answer.features[0];
  const series = useMemo(() => seriesOf(stats?.series, answer), [answer]);
  if (stats === undefined || stats.coverage === 0) return <p class="pending q">{past.noCoverage}</p>;
  return (
    <>
      <Chart
        label={past.seatsInUse}
        unit={past.unit}
        series={series}
        now={now.peek()}
        fullSeconds={stats.saturatedSeconds}
        height={110}
        onZoom={zoom}
      />
      <StatsFacts of={stats} />
    </>
  );
}
