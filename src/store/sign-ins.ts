import type { Database } from "bun:sqlite";
import { signIns } from "./database/schema.ts";
import { tableOf } from "./database/table.ts";
import type { Store } from "./open/open.ts";
import { codeHash, createSignInBook, type Grant, MAX_CODES, type SignInBookDeps } from "./sign-in-book.ts";

export interface SignInsDeps extends SignInBookDeps {
  readonly state: Pick<Store["state"], "sqlite" | "read" | "change" | "transaction">;
}

export type SignIns = ReturnType<typeof createSignIns>;

/** Signed-in browsers. All sign-ins are in memory, because no process other than the daemon writes them. */
export function createSignIns({ state, ...deps }: SignInsDeps) {
  const { clock } = deps;
  const book = createSignInBook(deps);
  const { verify, holds, list, touch } = book;
  const { columns, into, row: rowOf, values } = tableOf(signIns);
  book.show(state.read(() => state.sqlite.query(`SELECT ${columns} FROM sign_ins`).all()).map(rowOf));
  const remove = (sqlite: Database, id: string) => void sqlite.run("DELETE FROM sign_ins WHERE id = ?", [id]);
  const noteUse = state.sqlite.query<null, [number, string]>(
    "UPDATE sign_ins SET last_used_at = ? WHERE id = ?",
  );
  /** Unused links by the hash of their code. They are only in memory, so they end with the daemon. */
  const codes = new Map<string, Grant & { readonly until: number }>();

  return {
    verify,
    holds,
    list,
    touch,

    /**
     * Signs a browser in, replacing its previous sign-in. Throws StoreError, or Error if the grant has ended.
     */
    create(grant: Grant, stay: boolean, browser: string | null, replaced: string | null = null) {
      const { row, ended, made } = book.make(grant, stay, browser, replaced);
      state.change((sqlite) => {
        for (const each of ended) remove(sqlite, each);
        sqlite.query(`INSERT ${into}`).run(values(row));
      });
      for (const each of ended) book.remove(each);
      book.add(row);
      return made;
    },

    end(id: string): void {
      state.change((sqlite) => remove(sqlite, id));
      book.remove(id);
    },

    /** Writes pending uses. After a StoreError they stay pending. */
    flush(): void {
      const noted = book.uses();
      if (noted.length === 0) return;
      state.transaction(() => {
        for (const [id, lastUsedAt] of noted) noteUse.run(lastUsedAt, id);
      });
      book.written(noted);
    },

    makeCode(grant: Grant) {
      const { code, hash, until } = book.makeCode();
      codes.set(hash, { ...grant, until });
      for (const [each, { until: end }] of codes)
        if (end <= clock.now() || codes.size > MAX_CODES) codes.delete(each);
      return { code, until };
    },

    /**
     * Uses up a code and returns its grant and caller. Returns null if the code is unknown, used or
     * expired, or if its key has ended.
     */
    takeCode(code: string) {
      const hash = codeHash(code);
      const found = codes.get(hash);
      codes.delete(hash);
      if (found === undefined || found.until <= clock.now()) return null;
      const { until: _, ...grant } = found;
      return book.granted(grant);
    },
  };
}
