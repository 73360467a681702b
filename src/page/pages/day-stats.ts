import { signal } from "@preact/signals";
import { featureIdKey } from "../../domain/history.ts";
import type { StatsRecord } from "../../domain/history-records.ts";
import { get } from "../api.ts";
import type { FeatureRow } from "../model.ts";
import { MOST_ROWS } from "../parts/figure.tsx";

type Day = Pick<StatsRecord, "peakUsed" | "denials" | "coverage"> & { readonly readAt: number };
/** Placeholder for a feature without an answer; it is requested again when it becomes visible. */
export const NOTHING_KNOWN: Day = { peakUsed: null, denials: null, coverage: 0, readAt: 0 };
export const days = signal<ReadonlyMap<string, Day>>(new Map());

/** Requests wait until scrolling and typing pause. */
const RESTS_MS = 400;
const HOLDS_MS = 600_000;
/** Longer addresses may be refused. */
const MOST_CHARACTERS = 6_000;
let resting: ReturnType<typeof setTimeout> | undefined;

/** Reads the last 24 h of visible features. Reading 5,000 keeps the daemon busy for seconds. */
export function loadDays(rows: readonly FeatureRow[]): void {
  clearTimeout(resting);
  resting = setTimeout(() => void load(rows), RESTS_MS);
}

let allReadAt = 0;

/** Reads the last 24 h of all features, when a sort order needs them. */
export async function loadAllDays(): Promise<void> {
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

export const dayOf = (row: FeatureRow): Day | undefined => days.value.get(keyOfRow(row));
