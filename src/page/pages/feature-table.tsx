import { signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { featureIdKey } from "../../domain/history.ts";
import type { StatsRecord } from "../../domain/history-records.ts";
import { get } from "../api.ts";
import { day, number, shortIn } from "../format.ts";
import { now } from "../live/live.ts";
import { daysLeft, type FeatureRow, isFull, sorted } from "../model.ts";
import { Note, SeatBar } from "../parts/bar.tsx";
import { MOST_ROWS } from "../parts/figure.tsx";
import { type ListColumn, ListTable } from "../parts/list-table.tsx";
import { Age, Loading, State, Unknown } from "../parts/marks.tsx";
import { linkTo } from "../router.ts";
import { orUnknown } from "../series.ts";
import { keep, kept } from "../storage.ts";
import { unlessSeats } from "../words.ts";

export const FIRST = "free";
/** Matches windows that are wide enough for the columns of the last day. */
const WIDE = matchMedia("(min-width: 72.5625em)");

const OPTIONAL = ["daemon", "peak", "denied", "expires", "age"] as const;
type Optional = (typeof OPTIONAL)[number];

const hidden = signal<readonly string[]>((kept("hidden-columns") ?? "").split(" ").filter(Boolean));
const isHidden = (column: Optional) => hidden.value.includes(column);

/** Shows rows that are already sorted; the heads change `sort` in the address. */
export function FeatureTable({ rows }: Readonly<{ rows: readonly FeatureRow[] }>) {
  const showsDays = WIDE.matches && !(isHidden("peak") && isHidden("denied"));
  return (
    <ListTable
      label="Features"
      class="ft"
      rows={rows}
      columns={COLUMNS.filter(({ id }) => id === undefined || !isHidden(id))}
      first={FIRST}
      rowClass={({ feature }) => (feature.state === "stale" ? "stale-row" : "")}
      {...(showsDays && { seen: loadDays })}
    />
  );
}

const COLUMNS: readonly (ListColumn<FeatureRow> & { readonly id?: Optional })[] = [
  {
    head: "Feature",
    order: "name",
    width: "minmax(6.875rem, 1.3fr)",
    class: "a-n",
    cell: ({ of, server, feature: { daemon, name, unit } }) => (
      <a
        class="name"
        href={
          of === undefined
            ? linkTo("feature", { server: server.id, daemon, name })
            : linkTo("features", { q: name, sort: "name" })
        }
        title={name}
      >
        {name}
        <span class="q">{unlessSeats(unit)}</span>
      </a>
    ),
  },
  {
    head: "Server",
    order: "server",
    width: "4.75rem",
    class: "a-s q el",
    cell: ({ of, server }) => (of === undefined ? server.id : `${number(of)} places`),
  },
  {
    id: "daemon",
    head: "Daemon",
    order: "daemon",
    width: "minmax(4rem, 0.55fr)",
    class: "q el opt",
    cell: ({ of, feature }) => of === undefined && feature.daemon,
  },
  { head: "Seats", order: "seats", width: "11.5rem", class: "a-b", cell: SeatBar },
  { head: "Note", order: "note", width: "5.5rem", class: "a-w", cell: (row) => <Note row={row} /> },
  {
    head: "In use",
    order: "used",
    width: "4.5rem",
    class: "r",
    cell: ({ feature: { used, total, unlimited, unit } }) => (
      <>
        {used === null ? <Unknown /> : shortIn(unit)(used)}
        {used !== null && !unlimited && total !== null && <span class="q">/{shortIn(unit)(total)}</span>}
      </>
    ),
  },
  { head: "Free", order: "free", width: "3.375rem", class: "a-f r", cell: Free },
  { id: "peak", head: "Peak 24 h", order: "peak", width: "5rem", class: "r opt", cell: Peak },
  { id: "denied", head: "Denied 24 h", order: "denied", width: "5.25rem", class: "r opt", cell: Denied },
  {
    id: "expires",
    head: "Expires",
    order: "expires",
    width: "minmax(6.25rem, 0.8fr)",
    class: "pad opt",
    cell: Expiry,
  },
  { id: "age", head: "Age", order: "age", width: "5rem", class: "opt", cell: Freshness },
];

/** Sorts features by any column. To sort by peaks or denials, first reads the last day of all features. */
export function useInOrder(rows: () => FeatureRow[], sort: string, of: unknown): FeatureRow[] {
  const needsDays = /^-?(peak|denied)$/.test(sort);
  useEffect(() => {
    if (needsDays) void loadAllDays();
  }, [needsDays]);
  return useMemo(() => sorted(rows(), sort, BY_DAY), [of, sort, needsDays && days.value]);
}

/** Minimum coverage for an exact peak. With less coverage, the peak is shown as a lower bound. */
const COVERED = 0.9;
/** A row that merges several features has no history. */
const pastOf = (row: FeatureRow) => (row.of === undefined ? dayOf(row) : NOTHING_KNOWN);

const peakOf = (row: FeatureRow) => {
  const past = pastOf(row);
  return past === undefined ? null : orUnknown(past.peakUsed, past);
};
const BY_DAY = { peak: peakOf, denied: (row: FeatureRow) => pastOf(row)?.denials ?? null };

function Peak(row: FeatureRow) {
  const past = pastOf(row);
  if (past === undefined) return <Loading />;
  const peakUsed = peakOf(row);
  if (peakUsed === null) return <Unknown />;
  return <>{past.coverage < COVERED ? `≥ ${number(peakUsed)}` : number(peakUsed)}</>;
}

function Denied(row: FeatureRow) {
  const past = pastOf(row);
  if (past === undefined) return <Loading />;
  const { denials } = past;
  if (denials === null) return <Unknown />;
  return <span class={denials > 0 ? "n-crit" : "q"}>{number(denials)}</span>;
}

function Free(row: FeatureRow) {
  const { feature, free } = row;
  if (feature.unlimited) return <span class="q">no limit</span>;
  if (free === null) return <Unknown />;
  const isExpired = (daysLeft(row, now.peek()) ?? 0) < 0;
  return (
    <>
      <b class={isExpired ? "n-crit" : isFull(row) ? "n-full" : ""}>{shortIn(feature.unit)(free)}</b>
      <span class="q card-word"> free</span>
    </>
  );
}

const SOON_DAYS = 30;

function Expiry(row: FeatureRow) {
  const { expiresOn, permanent } = row.feature;
  if (permanent) return <span class="q">permanent</span>;
  if (expiresOn === null) return <Unknown />;
  const left = daysLeft(row, now.peek());
  const text = day(expiresOn, now.peek());
  if (left === null || left > SOON_DAYS) return <span class="q">{text}</span>;
  return <State is={left < 0 ? "crit" : "warn"}>{text}</State>;
}

function Freshness(row: FeatureRow) {
  const { feature, server } = row;
  const readAt = feature.collectedAt ?? server.collectedAt;
  const age = readAt === null ? <Unknown /> : <Age at={Date.parse(readAt)} />;
  if (feature.state === "failed") return <State is="crit">failed</State>;
  if (feature.state === "stale") return <State is="stale">{age}</State>;
  if (feature.state === "partial") return <State is="partial">partial</State>;
  const up = server.members.filter(({ status }) => status === "up").length;
  if (row.of === undefined && server.status === "degraded" && up < server.members.length)
    return <State is="partial">{`${up} of ${server.members.length}`}</State>;
  return <span class="q">{age}</span>;
}

/** Chooses the shown columns. This browser stores the choice for the next visit. */
export function ColumnChoice() {
  const choose = (column: Optional, on: boolean) => {
    hidden.value = on ? hidden.value.filter((each) => each !== column) : [...hidden.value, column];
    keep("hidden-columns", hidden.value.join(" ") || null);
  };
  return (
    <details
      class="pick wide"
      onKeyDown={({ key, currentTarget }) => {
        if (key === "Escape") currentTarget.open = false;
      }}
      onFocusOut={({ relatedTarget, currentTarget }) => {
        if (!currentTarget.contains(relatedTarget as Node | null)) currentTarget.open = false;
      }}
    >
      <summary class="btn">Columns</summary>
      <fieldset tabIndex={-1}>
        <legend class="vh">Columns</legend>
        {OPTIONAL.map((column) => (
          <label key={column}>
            <input
              type="checkbox"
              checked={!isHidden(column)}
              onChange={({ currentTarget }) => choose(column, currentTarget.checked)}
            />
            {COLUMNS.find(({ id }) => id === column)?.head}
          </label>
        ))}
      </fieldset>
    </details>
  );
}

type Day = Pick<StatsRecord, "peakUsed" | "denials" | "coverage"> & { readonly readAt: number };
/** Placeholder for a feature without an answer. The feature is requested again when it becomes visible. */
const NOTHING_KNOWN: Day = { peakUsed: null, denials: null, coverage: 0, readAt: 0 };
const days = signal<ReadonlyMap<string, Day>>(new Map());

/** Time without scrolling and typing after which requests are sent. */
const RESTS_MS = 400;
const HOLDS_MS = 600_000;
/** Maximum length of an address in characters, because longer ones may be refused. */
const MOST_CHARACTERS = 6_000;
let resting: ReturnType<typeof setTimeout> | undefined;

/** Reads the last 24 h of visible features only, because reading 5,000 features keeps the daemon busy for seconds. */
function loadDays(rows: readonly FeatureRow[]): void {
  clearTimeout(resting);
  resting = setTimeout(() => void load(rows), RESTS_MS);
}

let allReadAt = 0;

/** Reads the last 24 h of all features, when a sort order needs them. */
async function loadAllDays(): Promise<void> {
  if (Date.now() - allReadAt < HOLDS_MS) return;
  allReadAt = Date.now();
  const answer = await get("/api/licenses/stats", { series: "false", limit: `${MOST_ROWS}` }).catch(
    () => null,
  );
  if (answer === null) allReadAt = 0;
  add(answer?.features ?? [], allReadAt);
}

function add(features: readonly StatsRecord[], readAt: number): void {
  const next = new Map(days.peek());
  for (const row of features) next.set(featureIdKey(row), { ...row, readAt });
  days.value = next;
}

async function load(rows: readonly FeatureRow[]): Promise<void> {
  const readAt = Date.now();
  let left = MOST_CHARACTERS;
  const asked = rows.filter((row) => {
    if (row.of !== undefined || readAt - (dayOf(row)?.readAt ?? 0) < HOLDS_MS) return false;
    left -= encodeURIComponent(row.feature.name).length + 10;
    return left > 0;
  });
  if (asked.length === 0) return;
  const feature = [...new Set(asked.map((row) => row.feature.name))];
  const server = [...new Set(asked.map((row) => row.server.id))];
  const answer = await get("/api/licenses/stats", { series: "false", server, feature }).catch(() => null);
  const next = new Map(days.peek());
  for (const row of asked) next.set(keyOfRow(row), dayOf(row) ?? NOTHING_KNOWN);
  days.value = next;
  add(answer?.features ?? [], readAt);
}

const keyOfRow = ({ server, feature }: FeatureRow) =>
  featureIdKey({ server: server.id, daemon: feature.daemon, feature: feature.name });

const dayOf = (row: FeatureRow): Day | undefined => days.value.get(keyOfRow(row));
