import type { ServerPicture } from "../../domain/picture.ts";
import type { PoolExpiry } from "../../domain/summary.ts";
import type { Clock } from "../../domain/time/clock.ts";
import type { Reads } from "../database/reads.ts";
import { createConditions } from "./conditions.ts";
import { featurePage } from "./features.ts";
import { poolExpiry } from "./summary.ts";

/** A calendar has so many events at most, the soonest. */
const MAX_EXPIRIES = 20_000;
/** More features of one name are all the same to a badge, which wants one. */
const MAX_FEATURES = 100;

/** What routes of the daemon read in its pictures, whose features a hub has in PostgreSQL. */
export function createFinders({
  reads,
  clock,
}: {
  readonly reads: Pick<Reads, "pool">;
  readonly clock: Clock;
}) {
  return {
    async features(servers: readonly ServerPicture[], feature: string, daemon: string | undefined) {
      const asked = {
        servers: servers.map(({ server }) => server.id),
        feature: [feature],
        ...(daemon !== undefined && { daemon: [daemon] }),
        sort: null,
        limit: MAX_FEATURES,
        offset: 0,
      };
      return (await featurePage(reads.pool(), asked, clock.now(), (picture) => picture)).rows;
    },
    async expiries(servers: readonly ServerPicture[]): Promise<PoolExpiry[]> {
      const conditions = createConditions();
      conditions.servers(
        "p",
        servers.map(({ server }) => server.id),
      );
      const rows: Record<string, unknown>[] = await reads.pool().unsafe(
        `SELECT * FROM current_pools p WHERE expires_at IS NOT NULL AND ${conditions.where()}
         ORDER BY expires_at, site, server, daemon, feature, pool LIMIT ${MAX_EXPIRIES}`,
        conditions.values,
      );
      return rows.map(poolExpiry);
    },
  };
}
