import type { Database } from "bun:sqlite";
import { dirname, join } from "node:path";
import { type RandomBytes, systemRandom } from "../domain/keys.ts";
import { openReader } from "./database/read-only.ts";
import type { Store } from "./open/open.ts";

const SECRET_BYTES = 32;

/** What the secrets are for; each use has its own. */
export type SecretName = "pseudonyms";

/**
 * A secret of this installation: 32 random bytes, made when it is first asked for and the same ever after.
 * Survives a power cut, because what was published under it must stay recognisable.
 */
export function installationSecret(
  { state }: Pick<Store, "state">,
  name: SecretName,
  random: RandomBytes = systemRandom,
): Uint8Array {
  const known = state.read(() => secretIn(state.sqlite, name));
  if (known !== null) return known;
  const made = Buffer.from(random(SECRET_BYTES));
  return state.change(({ $client: sqlite }) => {
    // Another process may have been first.
    sqlite.run("INSERT OR IGNORE INTO secrets (name, value) VALUES (?, ?)", [name, made]);
    return secretIn(sqlite, name) ?? made;
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
    return secretIn(sqlite, name);
  } finally {
    sqlite.close();
  }
}

/** Prepared SQL, because drizzle would cost the worker of history some megabytes of memory. */
function secretIn(sqlite: Database, name: SecretName): Buffer | null {
  const query = sqlite.query<{ value: Uint8Array }, [string]>("SELECT value FROM secrets WHERE name = ?");
  const found = query.get(name)?.value;
  return found === undefined ? null : Buffer.from(found);
}
