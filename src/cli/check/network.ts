import { compress } from "snappyjs";
import type { Config, FleetSettings } from "../../config/config.ts";
import { credentialOfPath } from "../../config/credentials.ts";
import { codeOf, messageOf } from "../../domain/error-code.ts";
import { MINUTE_MS, span } from "../../domain/time/clock.ts";
import { post } from "../../export/remote-write/request.ts";
import { askHub, postPush } from "../../fleet/post.ts";
import { NO_INSTANCE, type Push } from "../../fleet/protocol.ts";
import { MAKE_KEY, readPeopleKey } from "../../fleet/site.ts";
import { certificateWarning, readTls } from "../../http/tls.ts";
import type { Pool } from "../../hub/database/connect.ts";
import { storedInstallationId } from "../../store/secrets.ts";
import { buildInfo } from "../../system/build-info.ts";
import { HOST_UNSET, isLoopback, reachableHost } from "../serve.ts";
import type { Look } from "./files.ts";

const WHAT = "http";
const EXPORT = "export.remote_write";
const SHOWN = {
  off: "",
  counts: "use, but no people,",
  pseudonyms: "people under pseudonyms",
  names: "people",
};
const ASK_TIMEOUT_MS = 1_000;
const POST_TIMEOUT_MS = 5_000;

/** Checks that the port is free or used by the daemon of this config, and that the certificate is valid. */
export async function checkListening({ config, env, report }: Look): Promise<void> {
  const { http, page, storage, hub } = config;
  const { host, port, tls } = http;
  const where = `${host}:${port}`;
  try {
    Bun.listen({ hostname: host, port, socket: { data() {} } }).stop(true);
    report.fine(WHAT, `${where} is free`);
  } catch (error) {
    const code = codeOf(error);
    const cannot = `cannot listen on ${where} (${code})`;
    const isTaken = code === "EADDRINUSE";
    const find = `find it with \`ss -ltnp sport = :${port}\` and stop it, or set http.port to another`;
    const instance = isTaken ? await instanceAt(http) : null;
    // Accept any licmond if the id cannot be compared, because a hub keeps its id in PostgreSQL, and
    // earlier versions do not report their id.
    const own = hub === null && instance !== "" ? storedInstallationId(storage.directory) : instance;
    if (instance !== null && instance === own)
      report.fine(WHAT, `licmond runs on ${where}; reload or restart it to apply this config`);
    else if (instance !== null)
      report.problem(WHAT, `another licmond, with another storage directory, listens on ${where}`, find);
    else if (isTaken) report.problem(WHAT, `another program listens on ${where}`, find);
    else if (code === "EACCES")
      report.problem(WHAT, `this user is not allowed to listen on ${where}`, "set http.port to 1024 or more");
    else report.problem(WHAT, cannot, "set http.host to an address of this host");
  }
  if (!http.isHostSet) report.warning(WHAT, `only this host can connect: ${HOST_UNSET}`);
  const clear = `plain HTTP on ${where}: keys are sent unencrypted (set http.tls_cert, or use a TLS proxy)`;
  if (tls === null && !isLoopback(host)) report.warning(WHAT, clear);
  const everybody = `everyone who can reach ${where} sees ${SHOWN[page.public]} without a key ([page] public = "${page.public}")`;
  if (page.public !== "off" && !isLoopback(host)) report.warning("page", everybody);
  if (tls === null || Object.values(tls).some((path) => credentialOfPath(path, env) !== null)) return;
  try {
    const warning = certificateWarning(readTls(tls), Date.now());
    if (warning === null) report.fine(WHAT, "TLS certificate and key are valid");
    else report.warning(WHAT, warning);
  } catch (error) {
    const fix = "correct http.tls_cert and http.tls_key, or remove both and use a TLS proxy";
    report.problem(WHAT, messageOf(error), fix);
  }
}

/**
 * Returns the instance id of the licmond that listens there, or "" if its version reports no id. Returns
 * null for another program.
 */
async function instanceAt({ host, port, tls }: Config["http"]): Promise<string | null> {
  const scheme = tls !== null ? "https" : "http";
  try {
    const answer = await fetch(`${scheme}://${reachableHost(host)}:${port}/api/ping`, {
      signal: AbortSignal.timeout(ASK_TIMEOUT_MS),
      redirect: "manual",
      tls: { rejectUnauthorized: false },
      // Ignore $http_proxy: the daemon is on this host.
      proxy: false,
    });
    const body = (await answer.json()) as { message?: unknown; instance?: unknown } | null;
    return body?.message === "pong" ? String(body.instance ?? "") : null;
  } catch {
    return null;
  }
}

/**
 * Checks that the remote-write receiver answers and accepts the token, with a request without samples. A receiver that
 * does not answer is only a warning, because the config may be right.
 */
export async function checkExport({ config: { remoteWrite }, report }: Look): Promise<void> {
  if (remoteWrite === null) return;
  const { protocol, host, hostname } = new URL(remoteWrite.url);
  if (protocol === "http:" && remoteWrite.tokenFile !== null && !isLoopback(hostname))
    report.warning(EXPORT, `plain HTTP to ${host}: the token is sent unencrypted`);
  const signal = AbortSignal.timeout(POST_TIMEOUT_MS);
  const posted = await post(remoteWrite, compress(new Uint8Array()), signal, Date.now);
  if (posted.outcome === "taken") report.fine(EXPORT, `${host} accepts metrics`);
  else if (posted.outcome === "failed") report.warning(EXPORT, `cannot write to ${host} now. ${posted.why}`);
  else report.problem(EXPORT, `${host} rejects writes. ${posted.why}`, fixOf(posted.status));
}

function fixOf(status: number): string {
  if (status === 401 || status === 403) return "correct token_file (and username, where it is needed)";
  if (status === 404 || status === 405)
    return "correct the url; Prometheus needs --web.enable-remote-write-receiver";
  return "check the receiver's answer, and correct the url";
}

const FLEET = "fleet";
const HUB = "hub";
const NO_HUB = "correct fleet.url and fleet.ca_file, or allow connections to the hub";

/** Checks that the hub answers, accepts the site's key, and has a matching clock and version. */
export async function checkFleet({ config: { fleet }, report }: Look): Promise<void> {
  if (fleet === null) return;
  const { protocol, host, hostname } = new URL(fleet.url);
  if (protocol === "http:" && !isLoopback(hostname))
    report.warning(FLEET, `plain HTTP to ${host}: the key and all data are sent unencrypted`);
  await checkPeople(fleet, report);
  const askedAt = Date.now();
  const health = await askHub(fleet, "/api/health", AbortSignal.timeout(POST_TIMEOUT_MS));
  if ("problem" in health)
    return report.problem(FLEET, `the hub ${host} does not answer. ${health.problem}`, NO_HUB);
  const { version = null, timestamp = null } = fieldsOf(health.text);
  if (timestamp === null) return report.problem(FLEET, `${host} is not a licmond hub`, "correct fleet.url");
  if (version === null) report.warning(FLEET, `the hub ${host} answers, but is unhealthy`);
  const offset = Date.parse(timestamp) - (askedAt + Date.now()) / 2;
  if (Math.abs(offset) > MINUTE_MS)
    report.warning(FLEET, `the clocks here and at the hub ${host} are ${span(Math.abs(offset))} apart`);
  const own = buildInfo().version;
  const older = `the hub ${host} runs licmond ${version}, older than ${own} here: update the hub first`;
  if (version !== null && minorOf(version) < minorOf(own)) report.warning(FLEET, older);
  const pushed = await postPush(fleet, helloOf(fleet.site), AbortSignal.timeout(POST_TIMEOUT_MS), Date.now);
  if (pushed.outcome === "taken") return report.fine(FLEET, `${host} accepts pushes of ${fleet.site}`);
  const why = "why" in pushed ? pushed.why : "Unexpected answer";
  if (pushed.outcome !== "refused")
    return report.warning(FLEET, `${host} does not accept pushes of ${fleet.site} now. ${why}`);
  const make = `create its key on the hub: licmond keys create --name ${fleet.site} --role site --site ${fleet.site}`;
  report.problem(FLEET, `${host} does not accept pushes of ${fleet.site}. ${why}`, make);
}

/** Checks the key of pseudonyms, and warns that a site without a key file generates its own key. */
async function checkPeople({ people, peopleKeyFile }: FleetSettings, report: Look["report"]): Promise<void> {
  if (people !== "pseudonyms") return;
  const unique = "pseudonyms are unique to this site; set fleet.people_key_file to share them across sites";
  if (peopleKeyFile === null) return report.fine(FLEET, unique);
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
  const empty = { facts: [], states: [], days: [], waitingSince: null, daysLeft: null };
  const place = { from: 1, to: 0, head: 0, gap: false, hello: true, begins: true };
  const ids = { site, epoch: NO_INSTANCE, instance: NO_INSTANCE };
  const push: Push = { ...ids, ...place, ...empty, sentAt: Date.now() };
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
      "this user cannot create tables: GRANT CREATE ON SCHEMA public, or let it own the database",
    );
  const version = row.made ? await schemaVersion(pool) : 0;
  const newer = `schema ${version}; this version supports ${MIGRATIONS.length}`;
  if (version > MIGRATIONS.length) throw new Error(`the database was written by a newer hub (${newer})`);
  return version === 0 ? "empty: the hub creates its tables at startup" : `schema ${version}`;
}
