import type { Role } from "../../domain/words.ts";
import {
  codeHash,
  createSignInBook,
  type Grant,
  MAX_CODES,
  type SignInBookDeps,
  type SignInRow,
} from "../../store/sign-in-book.ts";
import { type Pool, type Sql, whole } from "../database/connect.ts";

/** A request whose cookie is not known here waits so long for PostgreSQL to say whether another hub made it. */
const PATIENCE_MS = 2_000;

export type HubSignIns = Awaited<ReturnType<typeof createHubSignIns>>;

/**
 * Browsers that are signed in at any hub of the fleet, in PostgreSQL, and a copy of them in memory that `renew` brings up to
 * date: each request asks for its own, and none waits for the database but the first of a browser that another hub signed in.
 */
export async function createHubSignIns(pool: Pool, deps: SignInBookDeps) {
  const { clock } = deps;
  const book = createSignInBook(deps);
  const { verify, holds, list, touch } = book;
  /** What tells of any change to the table. */
  let seen = "";
  let running: Promise<void> | null = null;
  let next: Promise<void> | null = null;

  async function read(): Promise<void> {
    const [{ mark }] = await pool`
      SELECT count(*) || ' ' || coalesce(sum(hashtext(id)::bigint), 0) || ' ' || coalesce(max(last_used_at), 0) AS mark FROM sign_ins`;
    if (mark === seen) return;
    const rows: Record<string, unknown>[] = await pool`SELECT * FROM sign_ins`;
    book.show(rows.map(rowOf));
    seen = mark;
  }

  /** Reads what has changed: from after this call on, and once for all who wait. */
  function renew(): Promise<void> {
    if (running === null) {
      running = read().finally(() => {
        running = null;
      });
      return running;
    }
    next ??= running
      .catch(() => {})
      .then(() => {
        next = null;
        return renew();
      });
    return next;
  }

  const tell = (sql: Sql) => sql`SELECT pg_notify('licmond', 'sign-ins')`;
  const idsOf = (ids: readonly string[]) => JSON.stringify(ids);

  await renew();
  return {
    verify,
    holds,
    list,
    touch,
    renew,

    /** Waits until a sign-in that another hub has just made is known here too; at once where it is known, or is none. */
    async known(id: string): Promise<void> {
      if (book.has(id)) return;
      // Without an answer the request goes on as one of a browser that is not signed in.
      await Promise.race([renew().catch(() => {}), Bun.sleep(PATIENCE_MS)]);
    },

    /** Signs a browser in, in place of the sign-in that it had. Throws Error when the grant has ended. */
    async create(grant: Grant, stay: boolean, browser: string | null, replaced: string | null = null) {
      const { row, ended, made } = book.make(grant, stay, browser, replaced);
      await pool.begin(async (tx) => {
        await tx`DELETE FROM sign_ins WHERE id IN (SELECT json_array_elements_text(${idsOf(ended)}::text::json))`;
        await tx`
          INSERT INTO sign_ins (id, token_hash, key_id, role, stay, created_at, last_used_at, expires_at, browser)
          VALUES (${row.id}, ${row.tokenHash}, ${row.keyId}, ${row.role}, ${stay}, ${row.createdAt}, ${row.lastUsedAt},
            ${row.expiresAt}, ${browser})`;
        await tell(tx);
      });
      await renew();
      return made;
    },

    /** Signs it out for good. */
    async end(id: string): Promise<void> {
      await pool.begin(async (tx) => {
        await tx`DELETE FROM sign_ins WHERE id = ${id}`;
        await tell(tx);
      });
      await renew();
    },

    /** Writes the noted uses. When PostgreSQL does not take them they stay noted. */
    async flush(): Promise<void> {
      const noted = book.uses();
      if (noted.length === 0) return;
      const rows = JSON.stringify(noted.map(([id, at]) => ({ id, at })));
      await pool`
        UPDATE sign_ins s SET last_used_at = greatest(s.last_used_at, r.at)
        FROM json_to_recordset(${rows}::text::json) AS r(id text, at bigint) WHERE s.id = r.id`;
      book.written(noted);
    },

    /** A code that signs in one browser, once, at any hub, until `until`. */
    async makeCode({ keyId, role, expiresAt }: Grant) {
      const { code, hash, until } = book.makeCode();
      await pool.begin(async (tx) => {
        await tx`
          DELETE FROM sign_in_codes WHERE until_at <= ${clock.now()} OR hash IN (
            SELECT hash FROM sign_in_codes ORDER BY until_at DESC OFFSET ${MAX_CODES - 1})`;
        await tx`
          INSERT INTO sign_in_codes (hash, key_id, role, expires_at, until_at)
          VALUES (${hash}, ${keyId}, ${role}, ${expiresAt}, ${until})`;
      });
      return { code, until };
    },

    /** What a code is good for, and for whom; null when it is unknown, used or too old, or its key has ended. It is used up. */
    async takeCode(code: string) {
      const [found] = await pool`DELETE FROM sign_in_codes WHERE hash = ${codeHash(code)} RETURNING *`;
      if (found === undefined || Number(found.until_at) <= clock.now()) return null;
      return book.granted(grantOf(found));
    },
  };
}

function grantOf(row: Record<string, unknown>): Grant {
  return { keyId: row.key_id as string, role: row.role as Role | null, expiresAt: whole(row.expires_at) };
}

function rowOf(row: Record<string, unknown>): SignInRow {
  return {
    ...grantOf(row),
    id: row.id as string,
    tokenHash: new Uint8Array(row.token_hash as Buffer),
    stay: row.stay as boolean,
    createdAt: Number(row.created_at),
    lastUsedAt: Number(row.last_used_at),
    browser: row.browser as string | null,
  };
}
