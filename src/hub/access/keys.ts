import {
  type KeyRecord,
  keyProblem,
  keyState,
  makeKey,
  type NewKey,
  parseKey,
  printKey,
  type RandomBytes,
  systemRandom,
} from "../../domain/keys.ts";
import type { Clock } from "../../domain/time/clock.ts";
import type { Role } from "../../domain/words.ts";
import { type CreateKeyResult, hashOf, type KeyCheck, laterUse, NO_HASH } from "../../store/keys.ts";
import { type Pool, whole } from "../database/connect.ts";

type Kept = Omit<KeyRecord, "state"> & { readonly hash: Uint8Array };

export type HubKeys = Awaited<ReturnType<typeof createHubKeys>>;

/**
 * API keys in PostgreSQL, with a copy in memory that `renew` refreshes, so that requests do not wait for the
 * database.
 */
export async function createHubKeys(pool: Pool, clock: Clock, random: RandomBytes = systemRandom) {
  let kept = new Map<string, Kept>();
  /** Changes with every change to the table. */
  let seen = "";
  const uses = new Map<string, number>();

  async function renew(): Promise<void> {
    const [mark] = await pool`
      SELECT count(*) || ' ' || count(revoked_at) || ' ' || coalesce(max(created_at), 0) AS mark FROM api_keys`;
    if (mark.mark === seen) return;
    const rows = await pool`SELECT * FROM api_keys ORDER BY created_at, id`;
    kept = new Map(rows.map((row: Record<string, unknown>) => [row.id as string, keptOf(row)]));
    seen = mark.mark;
  }

  function record({ hash: _, ...key }: Kept): KeyRecord {
    return { ...key, lastUsedAt: uses.get(key.id) ?? key.lastUsedAt, state: keyState(key, clock.now()) };
  }

  const get = (id: string): KeyRecord | null => {
    const found = kept.get(id);
    return found === undefined ? null : record(found);
  };

  await renew();
  return {
    ofSites: true,
    renew,
    get,
    list: (): readonly KeyRecord[] => [...kept.values()].map(record),
    count: (): number =>
      kept.values().reduce((sum, key) => sum + (keyState(key, clock.now()) === "active" ? 1 : 0), 0),
    /** Finds a key by id, else by name: the active key with the name, else the newest. */
    find(idOrName: string): KeyRecord | null {
      const named = [...kept.values()].filter(({ name }) => name === idOrName).map(record);
      return get(idOrName) ?? named.find(({ state }) => state === "active") ?? named.at(-1) ?? null;
    },

    /** Creates a key, with a new id and secret unless given. Throws RangeError if `keyProblem` refuses it. */
    async create(wanted: NewKey, parts = makeKey(random)): Promise<CreateKeyResult> {
      const problem = keyProblem(wanted, clock.now(), true);
      if (problem !== null) throw new RangeError(problem.message);
      const {
        name,
        role,
        site = null,
        anonymize,
        expiresAt,
        dailyQuota,
        monthlyQuota,
        requestsPerMinute,
      } = wanted;
      const now = clock.now();
      const taken: { id: string }[] = await pool.begin(async (tx) => {
        // Serialize creation: two hubs may create keys with the same name at once.
        await tx`LOCK TABLE api_keys IN SHARE ROW EXCLUSIVE MODE`;
        const found = await tx`
          SELECT id FROM api_keys
          WHERE name = ${name} AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${now})`;
        if (found.length > 0) return found;
        await tx`
          INSERT INTO api_keys (id, name, role, site, secret_hash, anonymize, created_at, expires_at, daily_quota,
            monthly_quota, requests_per_minute)
          VALUES (${parts.id}, ${name}, ${role}, ${site}, ${Buffer.from(hashOf(parts.secret))}, ${anonymize}, ${now},
            ${expiresAt}, ${dailyQuota}, ${monthlyQuota}, ${requestsPerMinute})`;
        await tx`SELECT pg_notify('licmond', 'keys')`;
        return [];
      });
      await renew();
      const key = get(taken[0]?.id ?? parts.id);
      if (key === null) throw new Error("A key that was just stored is not there");
      return taken.length > 0
        ? { outcome: "name-taken", key }
        : { outcome: "created", key, presented: printKey(parts) };
    },

    /** Revokes a key; `gone` if it was revoked before. */
    async revoke(id: string): Promise<"revoked" | "gone" | "unknown"> {
      const rows = await pool`
        UPDATE api_keys SET revoked_at = ${clock.now()} WHERE id = ${id} AND revoked_at IS NULL RETURNING id`;
      await renew();
      if (rows.length === 0) return kept.has(id) ? "gone" : "unknown";
      await pool`SELECT pg_notify('licmond', 'keys')`;
      return "revoked";
    },

    verify(presented: string): KeyCheck {
      const parts = parseKey(presented);
      if (parts === null) return { outcome: "invalid" };
      const found = kept.get(parts.id);
      const equal = crypto.timingSafeEqual(hashOf(parts.secret), found?.hash ?? NO_HASH);
      if (found === undefined || !equal) return { outcome: "invalid" };
      const key = record(found);
      return { outcome: key.state === "active" ? "valid" : key.state, key };
    },

    /** Records a use in memory until `flush`, so that a request costs no write. */
    touch(id: string, at: number): void {
      uses.set(id, laterUse(at, uses.get(id) ?? 0));
    },

    /** Writes recorded uses. They stay recorded if PostgreSQL fails. */
    async flush(): Promise<void> {
      const noted = [...uses];
      if (noted.length === 0) return;
      const rows = JSON.stringify(noted.map(([id, at]) => ({ id, at })));
      await pool`
        UPDATE api_keys k SET last_used_at = greatest(k.last_used_at, r.at)
        FROM json_to_recordset(${rows}::text::json) AS r(id text, at bigint) WHERE k.id = r.id`;
      for (const [id, at] of noted) {
        const key = kept.get(id);
        if (key !== undefined) kept.set(id, { ...key, lastUsedAt: at });
        if (uses.get(id) === at) uses.delete(id);
      }
    },
  };
}

function keptOf(row: Record<string, unknown>): Kept {
  return {
    id: row.id as string,
    name: row.name as string,
    role: row.role as Role,
    ...(row.site !== null && { site: row.site as string }),
    hash: new Uint8Array(row.secret_hash as Buffer),
    anonymize: row.anonymize as boolean,
    createdAt: Number(row.created_at),
    expiresAt: whole(row.expires_at),
    revokedAt: whole(row.revoked_at),
    lastUsedAt: whole(row.last_used_at),
    dailyQuota: whole(row.daily_quota),
    monthlyQuota: whole(row.monthly_quota),
    requestsPerMinute: whole(row.requests_per_minute),
  };
}
