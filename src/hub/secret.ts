import { systemRandom } from "../domain/keys.ts";
import type { Pool, Sql } from "./database/connect.ts";

const SECRET_BYTES = 32;

/** Returns the hubs' secret for pseudonyms. The first hub creates the secret; sites never get it. */
export async function hubSecret(pool: Pool): Promise<Uint8Array> {
  await pool`
    INSERT INTO secrets (name, value) VALUES ('pseudonyms', ${Buffer.from(systemRandom(SECRET_BYTES))}) ON CONFLICT DO NOTHING`;
  return storedSecret(pool);
}

export async function storedSecret(sql: Sql): Promise<Uint8Array> {
  const [row] = await sql`SELECT value FROM secrets WHERE name = 'pseudonyms'`;
  return new Uint8Array(row.value);
}
