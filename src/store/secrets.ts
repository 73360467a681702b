import type { Database } from "bun:sqlite";
import { dirname, join } from "node:path";
import { type RandomBytes, systemRandom } from "../domain/keys.ts";
import type { Rows } from "./conditions.ts";
import { pathsOf } from "./database/files.ts";
import { openReader } from "./database/read-only.ts";
import type { Store } from "./open/open.ts";

const SECRET_BYTES = 32;

/**
 * Returns the secret of this installation, from which pseudonyms are derived: 32 random bytes, created on
 * first use and never changed. Durable, because published pseudonyms must stay recognizable.
 */
export function installationSecret(
  { state }: Pick<Store, "state">,
  random: RandomBytes = systemRandom,
): Uint8Array {
  const known = state.read(() => secretIn(state.sqlite));
  if (known !== null) return known;
  const made = Buffer.from(random(SECRET_BYTES));
  return state.change(({ $client: sqlite }) => {
    // Another process may have been first.
    sqlite.run("INSERT OR IGNORE INTO secrets (name, value) VALUES ('pseudonyms', ?)", [made]);
    return secretIn(sqlite) ?? made;
  });
}

/** Reads the secret in a worker that only has licmond.db; null if it was never created. */
export function storedSecret(read: Rows): Uint8Array | null {
  const [main] = read.all<{ file: string }>("SELECT file FROM pragma_database_list WHERE name = 'main'");
  using sqlite = openReader(join(dirname(main?.file ?? ""), "state.db"));
  return secretIn(sqlite);
}

/**
 * Returns the id of the installation in a storage directory; null if it has none yet or its database cannot
 * be read.
 */
export function storedInstallationId(directory: string): string | null {
  try {
    using sqlite = openReader(pathsOf(directory).state);
    const secret = secretIn(sqlite);
    return secret === null ? null : installationId(secret);
  } catch {
    // The check of the storage directory reports the reason.
    return null;
  }
}

/** Returns a public id of this installation: 8 hex digits that do not reveal the secret. */
export function installationId(secret: Uint8Array): string {
  return new Bun.CryptoHasher("sha256", secret).update("installation id").digest("hex").slice(0, 8);
}

/** Prepared SQL, because drizzle would cost the history worker some megabytes of memory. */
function secretIn(sqlite: Database): Buffer | null {
  const query = sqlite.query<{ value: Uint8Array }, []>(
    "SELECT value FROM secrets WHERE name = 'pseudonyms'",
  );
  const found = query.get()?.value;
  return found === undefined ? null : Buffer.from(found);
}
