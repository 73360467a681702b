import { messageOf } from "../domain/error-code.ts";
import type { Log } from "../domain/log.ts";
import type { MonitoredServer } from "../domain/server.ts";
import type { Clock } from "../domain/time/clock.ts";
import { servers } from "./database/schema.ts";
import { tableOf } from "./database/table.ts";
import type { Store } from "./open/open.ts";

export type ServerMemory = typeof servers.$inferSelect;

export type Servers = ReturnType<typeof createServers>;

export function createServers({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
  const { columns, into } = tableOf(servers);
  const write = store.sqlite.query<null, [ServerMemory]>(
    `INSERT ${into} ON CONFLICT (id) DO UPDATE SET manager = excluded.manager, address = excluded.address,
       name = excluded.name, last_configured = excluded.last_configured`,
  );
  const all = store.sqlite.query<ServerMemory, []>(`SELECT ${columns} FROM servers ORDER BY id`);
  return {
    configured(list: readonly MonitoredServer[]): void {
      const now = clock.now();
      store.transaction(() => {
        for (const { id, manager, address, name } of list)
          write.run({ id, manager, address, name, firstSeen: now, lastConfigured: now });
      });
    },
    list: (): readonly ServerMemory[] => store.read(() => all.all()),
  };
}

/**
 * Maximum number of stored hosts per server, the same as in the parsers. If a list is longer, only its
 * newest hosts are stored.
 */
const MAX_HOSTS = 50_000;

export type KnownHostsStore = ReturnType<typeof createKnownHostsStore>;

/**
 * Client hosts learned from each server's output. They are stored, because parsers need them to find where
 * a user's name ends.
 */
export function createKnownHostsStore(store: Store, log: Log) {
  const write = store.sqlite.query<null, [string, string]>(
    "INSERT OR REPLACE INTO known_hosts VALUES (?, ?)",
  );
  const stored = store.sqlite.query<{ hosts: string }, [string]>(
    "SELECT hosts FROM known_hosts WHERE server_id = ?",
  );
  return {
    save(serverId: string, list: readonly string[]): void {
      const hosts = JSON.stringify(list.slice(-MAX_HOSTS));
      store.transaction(() => void write.run(serverId, hosts));
    },
    /**
     * Returns the hosts, oldest first; empty if no hosts are known. An unreadable list is logged and
     * learned again.
     */
    load(serverId: string): readonly string[] {
      try {
        const row = store.read(() => stored.get(serverId));
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
