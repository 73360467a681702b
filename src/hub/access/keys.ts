import type { NewKey, RandomBytes } from "../../domain/keys.ts";
import type { Clock } from "../../domain/time/clock.ts";
import { type CreateKeyResult, createKeyBook, type KeyRow } from "../../store/key-book.ts";
import { fromRow, type Pool } from "../database/connect.ts";

type Kept = KeyRow & { readonly lastUsedAt: number | null };

export type HubKeys = Awaited<ReturnType<typeof createHubKeys>>;

/** API keys in PostgreSQL, with a copy in memory so that requests do not wait for the database. */
export async function createHubKeys(pool: Pool, clock: Clock, random?: RandomBytes) {
  let kept = new Map<string, Kept>();
  /** Fingerprint of the table, which changes with every change to the table. */
  let seen = "";
  const book = createKeyBook({
    rows: {
      byId: (id) => kept.get(id),
      all: () => [...kept.values()],
      usedAt: (id) => kept.get(id)?.lastUsedAt ?? null,
    },
    clock,
    ...(random && { random }),
    ofSites: true,
  });
  const { ofSites, get, list, find, count, verify, touch } = book;

  async function renew(): Promise<void> {
    const [mark] = await pool`
      SELECT count(*) || ' ' || count(revoked_at) || ' ' || coalesce(max(created_at), 0) AS mark FROM api_keys`;
    if (mark.mark === seen) return;
    const rows = await pool`SELECT * FROM api_keys ORDER BY created_at, id`;
    kept = new Map(rows.map((row: Record<string, unknown>) => [row.id as string, keptOf(row)]));
    seen = mark.mark;
  }

  await renew();
  return {
    ofSites,
    get,
    list,
    find,
    count,
    verify,
    touch,
    renew,

    async create(wanted: NewKey, parts?: Parameters<typeof book.make>[1]): Promise<CreateKeyResult> {
      const { row, presented } = book.make(wanted, parts);
      const { id, name, role, site = null, anonymize, expiresAt, secretHash, createdAt } = row;
      const taken: { id: string }[] = await pool.begin(async (tx) => {
        // Serialize creation: two hubs may create keys with the same name at once.
        await tx`LOCK TABLE api_keys IN SHARE ROW EXCLUSIVE MODE`;
        const found = await tx`
          SELECT id FROM api_keys
          WHERE name = ${name} AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${createdAt})`;
        if (found.length > 0) return found;
        await tx`
          INSERT INTO api_keys (id, name, role, site, secret_hash, anonymize, created_at, expires_at, daily_quota,
            monthly_quota, requests_per_minute)
          VALUES (${id}, ${name}, ${role}, ${site}, ${secretHash}, ${anonymize}, ${createdAt}, ${expiresAt},
            ${row.dailyQuota}, ${row.monthlyQuota}, ${row.requestsPerMinute})`;
        await tx`SELECT pg_notify('licmond', 'keys')`;
        return [];
      });
      await renew();
      const key = get(taken[0]?.id ?? id);
      if (key === null) throw new Error("A key that was just stored is missing");
      return taken.length > 0 ? { outcome: "name-taken", key } : { outcome: "created", key, presented };
    },

    async revoke(id: string): Promise<"revoked" | "gone" | "unknown"> {
      const rows = await pool`
        UPDATE api_keys SET revoked_at = ${clock.now()} WHERE id = ${id} AND revoked_at IS NULL RETURNING id`;
      await renew();
      if (rows.length === 0) return kept.has(id) ? "gone" : "unknown";
      await pool`SELECT pg_notify('licmond', 'keys')`;
      return "revoked";
    },

    /** Writes pending uses to PostgreSQL. If that fails, they stay pending. */
    async flush(): Promise<void> {
      const noted = book.unwritten();
      if (noted.length === 0) return;
      const rows = JSON.stringify(noted.map(([id, at]) => ({ id, at })));
      await pool`
        UPDATE api_keys k SET last_used_at = greatest(k.last_used_at, r.at)
        FROM json_to_recordset(${rows}::text::json) AS r(id text, at bigint) WHERE k.id = r.id`;
      for (const [id, at] of noted) {
        const key = kept.get(id);
        if (key !== undefined) kept.set(id, { ...key, lastUsedAt: at });
      }
      book.written(noted);
    },
  };
}

function keptOf({ site, ...row }: Record<string, unknown>): Kept {
  const key = fromRow<Kept & { secretHash: Buffer }>(row, [
    ...(["createdAt", "expiresAt", "revokedAt", "lastUsedAt"] as const),
    ...(["dailyQuota", "monthlyQuota", "requestsPerMinute"] as const),
  ]);
  return { ...key, ...(site !== null && { site: String(site) }), secretHash: new Uint8Array(key.secretHash) };
}
