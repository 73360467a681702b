import type { Role } from "../../domain/words.ts";
import {
  codeHash,
  createSignInBook,
  type Grant,
  MAX_CODES,
  type SignInBookDeps,
  type SignInRow,
} from "../../store/sign-in-book.ts";
import { fromRow, type Pool, type Sql, whole } from "../database/connect.ts";

/**
 * How long a request with an unknown cookie waits for the database, because another hub may have created
 * the sign-in.
 */
const PATIENCE_MS = 2_000;

export type HubSignIns = Awaited<ReturnType<typeof createHubSignIns>>;

/**
 * Sign-ins of browsers in PostgreSQL, with a copy in memory. Only the first request after a sign-in at
 * another hub waits for the database.
 */
export async function createHubSignIns(pool: Pool, deps: SignInBookDeps) {
  const { clock } = deps;
  const book = createSignInBook(deps);
  const { verify, holds, list, touch } = book;
  /** Fingerprint of the table, which changes with every change to the table. */
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

  /** Loads at least the changes made before this call; concurrent callers share one query. */
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

    async known(id: string): Promise<void> {
      if (book.has(id)) return;
      // If the database does not answer, the browser counts as signed out.
      await Promise.race([renew().catch(() => {}), Bun.sleep(PATIENCE_MS)]);
    },

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

    async end(id: string): Promise<void> {
      await pool.begin(async (tx) => {
        await tx`DELETE FROM sign_ins WHERE id = ${id}`;
        await tell(tx);
      });
      await renew();
    },

    /** Writes pending uses to PostgreSQL. If that fails, they stay pending. */
    async flush(): Promise<void> {
      const noted = book.uses();
      if (noted.length === 0) return;
      const rows = JSON.stringify(noted.map(([id, at]) => ({ id, at })));
      await pool`
        UPDATE sign_ins s SET last_used_at = greatest(s.last_used_at, r.at)
        FROM json_to_recordset(${rows}::text::json) AS r(id text, at bigint) WHERE s.id = r.id`;
      book.written(noted);
    },

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

    /** Redeems a code; returns null if the code is unknown, used or expired, or if its key has ended. */
    async takeCode(code: string) {
      const [found] = await pool`DELETE FROM sign_in_codes WHERE hash = ${codeHash(code)} RETURNING *`;
      if (found === undefined || Number(found.until_at) <= clock.now()) return null;
      return book.granted(grantOf(found));
    },
  };
}

function grantOf({ key_id: keyId, role, expires_at }: Record<string, unknown>): Grant {
  return { keyId: keyId as string, role: role as Role | null, expiresAt: whole(expires_at) };
}

function rowOf(row: Record<string, unknown>): SignInRow {
  const signIn = fromRow<SignInRow>(row, ["createdAt", "lastUsedAt", "expiresAt"]);
  return { ...signIn, tokenHash: new Uint8Array(row.token_hash as Buffer) };
}
