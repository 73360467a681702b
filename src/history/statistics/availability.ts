import type { AvailabilityRecord } from "../../domain/outages.ts";
import { percentOf, shareOf } from "../../domain/stats/figures.ts";
import type { HistorySource, Range } from "../reader.ts";

/** How available each server was, over the time for which that is known. */
export async function availabilityQuery(
  source: Pick<HistorySource, "statusMs" | "checkpoint">,
  servers: readonly string[],
  { start, end }: Range,
): Promise<AvailabilityRecord[]> {
  const records: AvailabilityRecord[] = [];
  for (const server of servers) {
    source.checkpoint();
    const { up = 0, degraded = 0, down = 0 } = await source.statusMs(server, start, end);
    const covered = up + degraded + down;
    const availability = percentOf(covered > 0 ? (up + degraded) / covered : null);
    records.push({ server, availability, coverage: shareOf(covered, end - start) });
  }
  return records;
}
