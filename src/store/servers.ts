import { sql } from "drizzle-orm";
import type { MonitoredServer } from "../domain/server.ts";
import type { Clock } from "../domain/time/clock.ts";
import { servers } from "./database/schema.ts";
import type { Store } from "./open/open.ts";

/** A license server as the store remembers it, configured now or once. Times are epoch ms. */
export type ServerMemory = typeof servers.$inferSelect;

export type Servers = ReturnType<typeof createServers>;

export function createServers({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
  const { db } = store;
  const set = {
    manager: sql`excluded.manager`,
    address: sql`excluded.address`,
    name: sql`excluded.name`,
    lastConfigured: sql`excluded.last_configured`,
  };
  return {
    /** Notes that these are configured now. */
    configured(list: readonly MonitoredServer[]): void {
      const now = clock.now();
      store.transaction(() => {
        for (const { id, manager, address, name } of list)
          db.insert(servers)
            .values({ id, manager, address, name, firstSeen: now, lastConfigured: now })
            .onConflictDoUpdate({ target: servers.id, set })
            .run();
      });
    },
    /** Every server that ever was, by id. */
    list: (): readonly ServerMemory[] =>
      store.read(() => db.select().from(servers).orderBy(servers.id).all()),
  };
}
