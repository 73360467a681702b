import { systemRandom } from "../domain/keys.ts";
import type { Pool, Sql } from "./database/connect.ts";

const SECRET_BYTES = 32;

/** The fleet's secret of pseudonyms, made by the first hub: all sites and hubs have the same. */
export async function fleetSecret(pool: Pool): Promise<Uint8Array> {
  await pool`
    INSERT INTO secrets (name, value) VALUES ('pseudonyms', ${Buffer.from(systemRandom(SECRET_BYTES))}) ON CONFLICT DO NOTHING`;
  return storedSecret(pool);
}

/** The same where a hub has begun: then it is there. */
export async function storedSecret(sql: Sql): Promise<Uint8Array> {
  const [row] = await sql`SELECT value FROM secrets WHERE name = 'pseudonyms'`;
  return new Uint8Array(row.value);
}
