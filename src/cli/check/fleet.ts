import type { FleetSettings } from "../../config/config.ts";
import { messageOf } from "../../domain/error-code.ts";
import { MINUTE_MS, span } from "../../domain/time/clock.ts";
import { MAKE_KEY, readPeopleKey } from "../../fleet/people-key.ts";
import { askHub, postPush } from "../../fleet/post.ts";
import { NO_INSTANCE, type Push } from "../../fleet/protocol.ts";
import type { Pool } from "../../hub/database/connect.ts";
import { buildInfo } from "../../system/build-info.ts";
import { isLoopback } from "../serve.ts";
import type { Look } from "./files.ts";

const FLEET = "fleet";
const HUB = "hub";
const ASK_TIMEOUT_MS = 5_000;

/** Checks that the hub answers, accepts the site's key, and has a matching clock and version. */
export async function checkFleet({ config: { fleet }, report }: Look): Promise<void> {
  if (fleet === null) return;
  const { protocol, host, hostname } = new URL(fleet.url);
  if (protocol === "http:" && !isLoopback(hostname))
    report.warning(FLEET, `plain HTTP to ${host}: the key and all data are sent unencrypted`);
  await checkPeople(fleet, report);
  const askedAt = Date.now();
  const health = await askHub(fleet, "/api/health", AbortSignal.timeout(ASK_TIMEOUT_MS));
  if ("problem" in health)
    return report.problem(
      FLEET,
      `the hub ${host} does not answer. ${health.problem}`,
      "correct fleet.url and fleet.ca_file, or allow connections to the hub",
    );
  const { version = null, timestamp = null } = fieldsOf(health.text);
  if (timestamp === null) return report.problem(FLEET, `${host} is not a licmond hub`, "correct fleet.url");
  if (version === null) report.warning(FLEET, `the hub ${host} answers, but is unhealthy`);
  const offset = Date.parse(timestamp) - (askedAt + Date.now()) / 2;
  if (Math.abs(offset) > MINUTE_MS)
    report.warning(FLEET, `the clocks here and at the hub ${host} are ${span(Math.abs(offset))} apart`);
  const own = buildInfo().version;
  if (version !== null && minorOf(version) < minorOf(own))
    report.warning(
      FLEET,
      `the hub ${host} runs licmond ${version}, older than ${own} here: update the hub first`,
    );
  const pushed = await postPush(fleet, helloOf(fleet.site), AbortSignal.timeout(ASK_TIMEOUT_MS), Date.now);
  if (pushed.outcome === "taken") return report.fine(FLEET, `${host} accepts pushes of ${fleet.site}`);
  const why = "why" in pushed ? pushed.why : "Unexpected answer";
  if (pushed.outcome !== "refused")
    return report.warning(FLEET, `${host} does not accept pushes of ${fleet.site} now. ${why}`);
  const make = `licmond keys create --name ${fleet.site} --role site --site ${fleet.site}`;
  report.problem(
    FLEET,
    `${host} does not accept pushes of ${fleet.site}. ${why}`,
    `create its key on the hub: ${make}`,
  );
}

/** Checks the key of pseudonyms, and warns that a site without a key file generates its own key. */
async function checkPeople({ people, peopleKeyFile }: FleetSettings, report: Look["report"]): Promise<void> {
  if (people !== "pseudonyms") return;
  if (peopleKeyFile === null)
    return report.fine(
      FLEET,
      "pseudonyms are unique to this site; set fleet.people_key_file to share them across sites",
    );
  try {
    await readPeopleKey(peopleKeyFile);
  } catch (error) {
    report.problem(FLEET, messageOf(error), `give every site the same file; create it with: ${MAKE_KEY}`);
  }
}

function fieldsOf(text: string): { readonly version?: string; readonly timestamp?: string } {
  try {
    const { version, timestamp } = (JSON.parse(text) ?? {}) as Record<string, unknown>;
    const isTime = typeof timestamp === "string" && !Number.isNaN(Date.parse(timestamp));
    return { ...(typeof version === "string" && { version }), ...(isTime && { timestamp }) };
  } catch {
    return {};
  }
}

const minorOf = (version: string) => {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major * 1000 + minor;
};

/** Returns an empty push, which the hub does not record. */
function helloOf(site: string): Uint8Array<ArrayBuffer> {
  const push: Push = {
    site,
    epoch: NO_INSTANCE,
    instance: NO_INSTANCE,
    from: 1,
    to: 0,
    gap: false,
    sentAt: Date.now(),
    head: 0,
    waitingSince: null,
    daysLeft: null,
    hello: true,
    begins: true,
    facts: [],
    states: [],
    days: [],
  };
  return new Uint8Array(Bun.zstdCompressSync(JSON.stringify(push)));
}

export async function checkHub({ config: { hub }, report }: Look): Promise<void> {
  if (hub === null) return;
  const { openPool } = await import("../../hub/database/connect.ts");
  const look = async (what: string, database: string, work: (pool: Pool) => Promise<string>) => {
    const { host } = new URL(database);
    let pool: Pool | null = null;
    try {
      pool = openPool({ ...hub, database }, 1);
      report.fine(what, `PostgreSQL at ${host}: ${await work(pool)}`);
    } catch (error) {
      report.problem(what, `cannot use the database at ${host}: ${messageOf(error)}`, null);
    } finally {
      await pool?.close({ timeout: 1 });
    }
  };
  await look(HUB, hub.database, schemaOf);
  if (hub.readDatabase !== null) await look(`${HUB}.read_database`, hub.readDatabase, schemaOf);
}

/** Describes the hub's tables. Throws an Error if they are unusable. */
async function schemaOf(pool: Pool): Promise<string> {
  const { assertUsable, MIGRATIONS, schemaVersion } = await import("../../hub/database/migrate.ts");
  await assertUsable(pool);
  const [row] = await pool`
    SELECT to_regclass('schema_steps') IS NOT NULL AS made, has_schema_privilege(current_schema(), 'CREATE') AS may_create`;
  if (!row.made && row.may_create !== true)
    throw new Error(
      `this user cannot create tables: GRANT CREATE ON SCHEMA public, or let it own the database`,
    );
  const version = row.made ? await schemaVersion(pool) : 0;
  if (version > MIGRATIONS.length)
    throw new Error(
      `the database was written by a newer hub (schema ${version}; this version supports ${MIGRATIONS.length})`,
    );
  return version === 0 ? "empty: the hub creates its tables at startup" : `schema ${version}`;
}
