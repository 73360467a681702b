import type { Database } from "bun:sqlite";
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
  return state.change((sqlite) => {
    sqlite.run("INSERT OR IGNORE INTO secrets (name, value) VALUES ('pseudonyms', ?)", [made]);
    return secretIn(sqlite) ?? made;
  });
}

/** Reads the secret in a worker that has attached state.db; null if the secret was never created. */
export function storedSecret(read: Rows): Uint8Array | null {
  const [found] = read.all<{ value: Uint8Array }>(`SELECT value FROM state.${THE_SECRET}`);
  return found?.value ?? null;
}

/**
 * Returns the id of the installation in a storage directory; null if none was created yet or the database
 * cannot be read.
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

const THE_SECRET = "secrets WHERE name = 'pseudonyms'";

function secretIn(sqlite: Database): Buffer | null {
  const found = sqlite.query<{ value: Uint8Array }, []>(`SELECT value FROM ${THE_SECRET}`).get()?.value;
  return found === undefined ? null : Buffer.from(found);
}
