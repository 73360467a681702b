import { eq, sql } from "drizzle-orm";
import { messageOf } from "../domain/error-code.ts";
import type { Log } from "../domain/log.ts";
import { placeholdersOf } from "./database/placeholders.ts";
import { knownHosts } from "./database/schema.ts";
import type { Store } from "./open/open.ts";

/** As many as the parsers keep in memory: the newest of a longer list are stored. */
const MAX_HOSTS = 50_000;

/** The client hosts learnt from each server's output: they tell where a user's name ends, also after a restart. */
export interface KnownHostsStore {
  /** Oldest first. Writes only when the set has changed since the last call; the server must be configured. */
  save(serverId: string, hosts: readonly string[]): void;
  /** Oldest first; empty when none are known. What cannot be read is logged and learnt anew. */
  load(serverId: string): readonly string[];
}

export function createKnownHostsStore(store: Store, log: Log): KnownHostsStore {
  const { db } = store;
  const saved = new Map<string, string>();
  const write = db
    .insert(knownHosts)
    .values(placeholdersOf(knownHosts))
    .onConflictDoUpdate({ target: knownHosts.serverId, set: { hosts: sql`excluded.hosts` } })
    .prepare();
  return {
    save(serverId, hosts) {
      const kept = hosts.slice(-MAX_HOSTS);
      const mark = markOf(kept);
      if (saved.get(serverId) === mark) return;
      store.transaction(() => write.run({ serverId, hosts: JSON.stringify(kept) }));
      saved.set(serverId, mark);
    },
    load(serverId) {
      try {
        const row = store.read(() =>
          db.select().from(knownHosts).where(eq(knownHosts.serverId, serverId)).get(),
        );
        const hosts: unknown = JSON.parse(row?.hosts ?? "[]");
        if (!Array.isArray(hosts)) throw new TypeError("not a list");
        const kept = hosts.filter((host): host is string => typeof host === "string").slice(-MAX_HOSTS);
        saved.set(serverId, markOf(kept));
        return kept;
      } catch (error) {
        log.warn("The known hosts of a server cannot be read and will be learnt anew", {
          server: serverId,
          error: messageOf(error),
        });
        return [];
      }
    },
  };
}

/** Equal for equal sets, whatever their order: a host that is seen again only moves within the list. */
function markOf(hosts: readonly string[]): string {
  let sum = 0n;
  for (const host of hosts) sum ^= BigInt(Bun.hash(host));
  return `${hosts.length}:${sum}`;
}
