import { sql } from "drizzle-orm";
import type { MonitoredServer } from "../domain/server.ts";
import type { Clock } from "../domain/time/clock.ts";
import { placeholdersOf } from "./database/placeholders.ts";
import { servers } from "./database/server-table.ts";
import type { Store } from "./open/open.ts";

/** A license server as the store remembers it, configured now or once. Times are epoch ms. */
export type ServerMemory = typeof servers.$inferSelect;

export interface Servers {
  /** Notes that these are configured now. */
  configured(list: readonly MonitoredServer[]): void;
  /** Every server that ever was, by id. */
  list(): readonly ServerMemory[];
}

export function createServers({ store, clock }: { readonly store: Store; readonly clock: Clock }): Servers {
  const { db } = store;
  const note = db
    .insert(servers)
    .values(placeholdersOf(servers))
    .onConflictDoUpdate({
      target: servers.id,
      set: {
        manager: sql`excluded.manager`,
        address: sql`excluded.address`,
        name: sql`excluded.name`,
        lastConfigured: sql`excluded.last_configured`,
      },
    })
    .prepare();
  return {
    configured(list) {
      const now = clock.now();
      store.transaction(() => {
        for (const { id, manager, address, name } of list)
          note.run({ id, manager, address, name, firstSeen: now, lastConfigured: now });
      });
    },
    list: () => store.read(() => db.select().from(servers).orderBy(servers.id).all()),
  };
}
