import { eq, sql } from "drizzle-orm";
import { messageOf } from "../domain/error-code.ts";
import type { Log } from "../domain/log.ts";
import type { MonitoredServer } from "../domain/server.ts";
import type { Clock } from "../domain/time/clock.ts";
import { knownHosts, servers } from "./database/schema.ts";
import type { Store } from "./open/open.ts";

/** A license server known to the store, configured now or earlier. Times are epoch ms. */
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
    /** Records the servers that are configured now. */
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
    /** Returns every server that was ever configured, by id. */
    list: (): readonly ServerMemory[] =>
      store.read(() => db.select().from(servers).orderBy(servers.id).all()),
  };
}

/** Same limit as in the parsers; of a longer list, the newest are stored. */
const MAX_HOSTS = 50_000;

export type KnownHostsStore = ReturnType<typeof createKnownHostsStore>;

/**
 * Client hosts learned from each server's output: they show where a user's name ends, also after a restart.
 */
export function createKnownHostsStore(store: Store, log: Log) {
  const { db } = store;
  return {
    /** Oldest first; the server must be configured. */
    save(serverId: string, list: readonly string[]): void {
      const hosts = JSON.stringify(list.slice(-MAX_HOSTS));
      const target = knownHosts.serverId;
      const put = db.insert(knownHosts).values({ serverId, hosts });
      store.transaction(() => void put.onConflictDoUpdate({ target, set: { hosts } }).run());
    },
    /** Oldest first; empty if none are known. Unreadable lists are logged and learned again. */
    load(serverId: string): readonly string[] {
      const ofServer = eq(knownHosts.serverId, serverId);
      try {
        const row = store.read(() => db.select().from(knownHosts).where(ofServer).get());
        const hosts: unknown = JSON.parse(row?.hosts ?? "[]");
        if (!Array.isArray(hosts)) throw new TypeError("not a list");
        return hosts.filter((host): host is string => typeof host === "string").slice(-MAX_HOSTS);
      } catch (error) {
        log.warn("The known hosts of a server cannot be read and will be learned again", {
          server: serverId,
          error: messageOf(error),
        });
        return [];
      }
    },
  };
}
