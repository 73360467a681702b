import type { Database } from "bun:sqlite";
import { dirname, join } from "node:path";
import { type RandomBytes, systemRandom } from "../domain/keys.ts";
import type { Rows } from "./conditions.ts";
import { pathsOf } from "./database/files.ts";
import { openReader } from "./database/read-only.ts";
import type { Store } from "./open/open.ts";

const SECRET_BYTES = 32;

/**
 * The secret of this installation, from which pseudonyms are made: 32 random bytes, made when it is first asked for and the
 * same ever after. Survives a power cut, because what was published under it must stay recognisable.
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

/** The same for a worker that only reads licmond.db, by its path; null = the secret was never made. */
export function storedSecret(read: Rows): Uint8Array | null {
  const [main] = read.all<{ file: string }>("SELECT file FROM pragma_database_list WHERE name = 'main'");
  using sqlite = openReader(join(dirname(main?.file ?? ""), "state.db"));
  return secretIn(sqlite);
}

/** Returns the id of the installation in a storage directory; null if it has none yet or its database cannot be read. */
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

/** Tells this installation from others in public: 8 hex digits, of which the secret cannot be found. */
export function installationId(secret: Uint8Array): string {
  return new Bun.CryptoHasher("sha256", secret).update("installation id").digest("hex").slice(0, 8);
}

/** Prepared SQL, because drizzle would cost the worker of history some megabytes of memory. */
function secretIn(sqlite: Database): Buffer | null {
  const query = sqlite.query<{ value: Uint8Array }, []>(
    "SELECT value FROM secrets WHERE name = 'pseudonyms'",
  );
  const found = query.get()?.value;
  return found === undefined ? null : Buffer.from(found);
}
