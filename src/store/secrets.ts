import { dirname, join } from "node:path";
import { eq } from "drizzle-orm";
import { type RandomBytes, systemRandom } from "../domain/keys.ts";
import type { Db } from "./database/database-file.ts";
import { openReader } from "./database/read-only.ts";
import { secrets } from "./database/schema.ts";
import type { Store } from "./open/open.ts";

const SECRET_BYTES = 32;

/** What the secrets are for; each use has its own. */
export type SecretName = "pseudonyms";

/**
 * A secret of this installation: 32 random bytes, made when it is first asked for and the same ever after.
 * Survives a power cut, because what was told under it must stay recognisable.
 */
export function installationSecret(
  store: Store,
  name: SecretName,
  random: RandomBytes = systemRandom,
): Uint8Array {
  const stored = (db: Db) => db.select().from(secrets).where(eq(secrets.name, name)).get()?.value;
  const known = store.state.read(() => stored(store.state.db));
  if (known !== undefined) return known;
  const made = Buffer.from(random(SECRET_BYTES));
  return store.state.change((db) => {
    db.insert(secrets).values({ name, value: made }).onConflictDoNothing().run();
    // Another process may have been first.
    return stored(db) ?? made;
  });
}

/** The same for a worker that only reads licmond.db, by its path; null = the secret was never made. */
export function storedSecret(
  read: { all<Row>(sql: string, ...parameters: string[]): Row[] },
  name: SecretName,
): Uint8Array | null {
  const [main] = read.all<{ file: string }>("SELECT file FROM pragma_database_list WHERE name = 'main'");
  const sqlite = openReader(join(dirname(main?.file ?? ""), "state.db"));
  try {
    const query = sqlite.query<{ value: Uint8Array }, [string]>("SELECT value FROM secrets WHERE name = ?");
    return query.get(name)?.value ?? null;
  } finally {
    sqlite.close();
  }
}
