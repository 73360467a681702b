import { signal } from "@preact/signals";
import type { StatsRecord } from "../../domain/history-records.ts";
import { get } from "../api.ts";
import type { FeatureRow } from "../model.ts";

type Day = Pick<StatsRecord, "peakUsed" | "denials" | "coverage">;
const keyOf = (server: string, daemon: string, name: string) => JSON.stringify([server, daemon, name]);
const days = signal<ReadonlyMap<string, Day>>(new Map());

/** Reads what each feature had in the last 24 h. While it is not there, the columns say so. */
export async function loadDays(signal: AbortSignal): Promise<void> {
  const answer = await get("/api/licenses/stats", { series: "false" }, signal).catch(() => null);
  if (answer === null) return;
  days.value = new Map(answer.features.map((row) => [keyOf(row.server, row.daemon, row.feature), row]));
}

export function dayOf({ server, feature }: FeatureRow): Day | undefined {
  return days.value.get(keyOf(server.id, feature.daemon, feature.name));
}
