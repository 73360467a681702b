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

/** Whether the hub of this site is there, takes its key, and has the same time and a version that goes with this one. */
export async function checkFleet({ config: { fleet }, report }: Look): Promise<void> {
  if (fleet === null) return;
  const { protocol, host, hostname } = new URL(fleet.url);
  if (protocol === "http:" && !isLoopback(hostname))
    report.warning(FLEET, `plain HTTP to ${host}: the key, and all that the hub is told, travel in clear`);
  await checkPeople(fleet, report);
  const askedAt = Date.now();
  const health = await askHub(fleet, "/api/health", AbortSignal.timeout(ASK_TIMEOUT_MS));
  if ("problem" in health)
    return report.problem(
      FLEET,
      `the hub ${host} does not answer. ${health.problem}`,
      "correct fleet.url and fleet.ca_file, or open the way to the hub",
    );
  const { version = null, timestamp = null } = fieldsOf(health.text);
  if (timestamp === null)
    return report.problem(FLEET, `what answers at ${host} is no hub`, "correct fleet.url");
  if (version === null) report.warning(FLEET, `the hub ${host} answers, and is not well`);
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
  if (pushed.outcome === "taken") return report.fine(FLEET, `${host} takes pushes of ${fleet.site}`);
  const why = "why" in pushed ? pushed.why : "It answered what no hub answers";
  if (pushed.outcome !== "refused")
    return report.warning(FLEET, `${host} takes no pushes of ${fleet.site} now. ${why}`);
  const make = `licmond keys create --name ${fleet.site} --role site --site ${fleet.site}`;
  report.problem(
    FLEET,
    `${host} takes no pushes of ${fleet.site}. ${why}`,
    `make its key at the hub: ${make}`,
  );
}

/** Checks the key of pseudonyms, and notes that a site without a file makes its own. */
async function checkPeople({ people, peopleKeyFile }: FleetSettings, report: Look["report"]): Promise<void> {
  if (people !== "pseudonyms") return;
  if (peopleKeyFile === null)
    return report.fine(
      FLEET,
      "pseudonyms of this site alone: fleet.people_key_file makes them the same at every site",
    );
  try {
    await readPeopleKey(peopleKeyFile);
  } catch (error) {
    report.problem(FLEET, messageOf(error), `give every site the same file; make it with: ${MAKE_KEY}`);
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

/** A push that brings nothing, and of which the hub notes nothing. */
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

/** Whether the database of a hub, and its replica, can be used. */
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
      report.problem(what, `the database at ${host} cannot be used: ${messageOf(error)}`, null);
    } finally {
      await pool?.close({ timeout: 1 });
    }
  };
  await look(HUB, hub.database, schemaOf);
  if (hub.readDatabase !== null) await look(`${HUB}.read_database`, hub.readDatabase, schemaOf);
}

/** What there is of the hub's tables, in words. Throws an Error that says why they cannot be used. */
async function schemaOf(pool: Pool): Promise<string> {
  const { assertUsable, schemaVersion } = await import("../../hub/database/migrate.ts");
  const { MIGRATIONS } = await import("../../hub/database/migrations.ts");
  await assertUsable(pool);
  const [row] = await pool`
    SELECT to_regclass('schema_steps') IS NOT NULL AS made, has_schema_privilege(current_schema(), 'CREATE') AS may_create`;
  if (!row.made && row.may_create !== true)
    throw new Error(
      `this user may not make tables there: GRANT CREATE ON SCHEMA public, or let it own the database`,
    );
  const version = row.made ? await schemaVersion(pool) : 0;
  if (version > MIGRATIONS.length)
    throw new Error(`a newer hub has written it (schema ${version}, this one knows ${MIGRATIONS.length})`);
  return version === 0 ? "empty: the hub makes its tables when it starts" : `schema ${version}`;
}
