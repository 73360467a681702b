import { eq } from "drizzle-orm";
import { type RandomBytes, systemRandom } from "../domain/keys.ts";
import type { Store } from "./open.ts";
import { secrets } from "./schema.ts";

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
  const { db } = store;
  const stored = () => db.select().from(secrets).where(eq(secrets.name, name)).get()?.value;
  const known = store.read(stored);
  if (known !== undefined) return known;
  return store.transaction(
    () => {
      db.insert(secrets)
        .values({ name, value: Buffer.from(random(SECRET_BYTES)) })
        .onConflictDoNothing()
        .run();
      // Another process may have been first.
      const value = stored();
      if (value === undefined) throw new Error(`The secret ${name} could not be kept`);
      return value;
    },
    { durable: true },
  );
}

/** The same over a connection that only reads; null = it was never made. */
export function storedSecret(
  read: { all<Row>(sql: string, ...parameters: string[]): Row[] },
  name: SecretName,
): Uint8Array | null {
  const [row] = read.all<{ value: Uint8Array }>("SELECT value FROM secrets WHERE name = ?", name);
  return row?.value ?? null;
}
