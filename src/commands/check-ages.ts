import type { Config } from "../config/config.ts";
import { zoneSkewByAges } from "../domain/clock-skew.ts";
import { withDatabase } from "../store/read-only.ts";
import { sessionAges } from "../store/sessions.ts";
import { StoreError } from "../store/store-error.ts";
import { clockWords } from "./clock-words.ts";
import type { Report } from "./report.ts";

/**
 * What the checkouts seen so far tell of each server's zone. A tool that prints this host's clock, as lmstat does,
 * tells nothing of the server's; how old new checkouts are does.
 */
export async function checkAges(
  { servers, storage }: Config,
  now: number,
  report: Pick<Report, "problem">,
): Promise<void> {
  try {
    await withDatabase(storage.directory, async (sqlite) => {
      for (const { id, timezone, intervalMs, enabled } of servers) {
        const ages = enabled ? sessionAges(sqlite, id) : null;
        const skew = ages === null ? null : zoneSkewByAges(ages, { intervalMs, zone: timezone, now });
        if (skew !== null) report.problem(`${id}: checkouts`, ...clockWords(skew, timezone));
      }
    });
  } catch (error) {
    // There is no database yet, or the check of the storage directory has said what is wrong with it.
    if (!(error instanceof StoreError)) throw error;
  }
}
