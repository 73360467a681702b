import { compress } from "snappyjs";
import type { Config } from "../../config/config.ts";
import { credentialOfPath } from "../../config/credentials.ts";
import { codeOf, messageOf } from "../../domain/error-code.ts";
import { post } from "../../export/remote-write/post.ts";
import { certificateWarning, readTls } from "../../http/tls.ts";
import { storedInstallationId } from "../../store/secrets.ts";
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
    // A hub keeps its id in PostgreSQL and earlier versions do not report theirs: accept both.
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

/** Returns the instance id of the licmond that listens there, "" if its version has none; null for another program. */
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
