import { X509Certificate } from "node:crypto";
import { STATUS_CODES } from "node:http";
import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate } from "node:zlib";
import { codeOf } from "../domain/error-code.ts";
import type { PollError, PollRaw } from "../domain/poll.ts";
import type { HttpQuestion, RequestStep } from "../managers/manager.ts";
import { fillSecrets, isSecret, type Placeholder } from "../managers/secrets.ts";
import { DEFAULT_MAX_BYTES, HEAD_BYTES } from "./run-command.ts";

/** Result of an HTTP step. `argv` has its method and URL, without secrets; `exitCode` is the HTTP status. */
export interface RequestRun extends PollRaw {
  readonly started: true;
  readonly kind: "request";
  /** Why the answer is not usable. */
  readonly failure: RequestFailure | null;
  readonly timedOut: boolean;
  readonly aborted: boolean;
  readonly broken: boolean;
  /** Secret token that the login returned. */
  readonly token: string | null;
}

/** The message has one or two sentences, without secrets. */
type RequestFailure = Pick<PollError, "code" | "message">;

export interface RequestOptions {
  readonly secret: string | null;
  /** PEM certificates of the authorities to trust; null = the public ones. */
  readonly ca: string | null;
  /** Maximum time for login, redirects and answer together. */
  readonly limitMs: number;
  readonly signal?: AbortSignal;
}

const MAX_REDIRECTS = 3;

type Secrets = Readonly<Partial<Record<Placeholder, string>>>;

type Answer = Pick<RequestRun, "stdout" | "truncated" | "failure" | "broken"> & {
  readonly status: number | null;
};

/** Runs an HTTP step. Never rejects. */
export async function askOverHttp(
  { request, login }: RequestStep,
  options: RequestOptions,
): Promise<RequestRun> {
  const { secret, limitMs, signal } = options;
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), limitMs);
  const called = signal === undefined ? limit.signal : AbortSignal.any([signal, limit.signal]);
  const isTimedOut = () => limit.signal.aborted && signal?.aborted !== true;
  const secrets: Secrets =
    secret === null ? {} : { secret, secret_base64: Buffer.from(secret).toString("base64") };
  const run = (question: HttpQuestion, { status, ...answer }: Answer, token: string | null): RequestRun => ({
    ...answer,
    started: true,
    kind: "request",
    argv: [question.method, shownUrl(question)],
    exitCode: status,
    signal: null,
    stderr: NOTHING,
    timedOut: isTimedOut(),
    aborted: signal?.aborted === true,
    token,
  });
  try {
    let token: string | null = null;
    if (login !== undefined) {
      const answer = await ask(login, secrets, options.ca, called);
      if (answer.failure !== null || answer.truncated || answer.broken) return run(login, answer, null);
      token = tokenIn(answer.stdout, login.token);
      // Discard the answer's text, because it may contain a token in another place.
      if (token === null)
        return run(
          login,
          {
            ...answer,
            stdout: NOTHING,
            failure: queryFailed(`The login answer of ${login.url} contains no token.`),
          },
          null,
        );
    }
    const own: Secrets = token === null ? secrets : { ...secrets, token };
    return run(request, await ask(request, own, options.ca, called), token);
  } finally {
    clearTimeout(timer);
  }
}

/** Extracts the token; null if the answer is malformed. Drops the exception, which may quote the answer. */
function tokenIn(answer: Uint8Array, read: (text: string) => string | null): string | null {
  try {
    return read(new TextDecoder().decode(answer));
  } catch {
    return null;
  }
}

async function ask(
  question: HttpQuestion,
  secrets: Secrets,
  ca: string | null,
  signal: AbortSignal,
): Promise<Answer> {
  const { method, headers = {}, body } = question;
  const url = URL.canParse(question.url) ? new URL(question.url) : null;
  if (url === null || !isWeb(url))
    return failed(null, queryFailed(`${question.url} is not an http: or https: URL.`));
  const trust = trustOf(ca);
  if (trust === null) return failed(null, queryFailed("The server's `ca_file` contains no PEM certificate."));
  for (const [name, value] of Object.entries(question.query ?? {}))
    url.searchParams.append(name, fillSecrets(value, secrets));
  const within = escapeFor(headers);
  let next = url;
  for (let followed = 0; ; followed++) {
    let response: Response;
    try {
      response = await fetch(next, {
        method,
        headers: { "accept-encoding": "identity", ...filledHeaders(headers, secrets) },
        ...(body !== undefined && { body: fillSecrets(body, secrets, within) }),
        signal,
        redirect: "manual",
        // A few compressed kilobytes may expand to gigabytes, so decompress below, with a size limit.
        decompress: false,
        // Pooled connections would be shared by servers that trust different authorities.
        keepalive: false,
        // Ignore $http_proxy, which is meant for the internet.
        proxy: false,
        tls: { rejectUnauthorized: true, ...trust },
      });
    } catch (error) {
      return failed(null, reasonOf(error, next));
    }
    const { status } = response;
    const location = isRedirect(status) ? response.headers.get("location") : null;
    if (location === null) return read(response, next);
    await response.body?.cancel().catch(() => {});
    const target = URL.canParse(location, next.href) ? new URL(location, next) : null;
    const why = whyNotFollowed(question, next, target, followed);
    // Do not quote the target, which may contain the secret.
    if (target === null || why !== null)
      return failed(status, queryFailed(`${next.host} redirects (${status}) ${why}.`));
    next = target;
  }
}

function whyNotFollowed(question: HttpQuestion, from: URL, to: URL | null, followed: number): string | null {
  if (isSecret(question)) return "and requests with a secret do not follow redirects";
  if (question.method !== "GET") return "and POST requests do not follow redirects";
  if (to === null) return "but not to a valid URL";
  if (to.origin !== from.origin) return `to ${to.origin}; redirects to another origin are not followed`;
  return followed < MAX_REDIRECTS ? null : `after ${MAX_REDIRECTS} redirects`;
}

/** Reads the body of an answer, or the part that arrived. */
async function read(response: Response, url: URL): Promise<Answer> {
  const { status, headers, body } = response;
  const chunks: Uint8Array[] = [];
  let length = 0;
  let broken = false;
  const reader = body?.getReader();
  try {
    while (reader !== undefined && length <= DEFAULT_MAX_BYTES) {
      const { done, value } = await reader.read();
      if (done) break;
      chunks.push(value);
      length += value.length;
    }
  } catch {
    broken = true;
  }
  const isLong = length > DEFAULT_MAX_BYTES;
  if (isLong) await reader?.cancel().catch(() => {});
  const packed = Buffer.concat(chunks, isLong ? HEAD_BYTES : length);
  const encoding = headers.get("content-encoding")?.trim().toLowerCase() ?? "identity";
  const whole =
    isLong || encoding === "identity" ? { bytes: packed, truncated: isLong } : await unpack(packed, encoding);
  const failure = whole.bytes === null ? unreadable(url, encoding) : failureOf(status, url);
  return { status, stdout: whole.bytes ?? NOTHING, truncated: whole.truncated, failure, broken };
}

const UNPACK = {
  gzip: promisify(gunzip),
  "x-gzip": promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
};

/** Decompresses a body. Returns no bytes if the result exceeds the size limit, and null if the body is damaged. */
async function unpack(packed: Uint8Array, encoding: string) {
  const way = Object.hasOwn(UNPACK, encoding) ? UNPACK[encoding as keyof typeof UNPACK] : null;
  try {
    const bytes = way && (await way(packed, { maxOutputLength: DEFAULT_MAX_BYTES }));
    return { bytes, truncated: false };
  } catch (error) {
    const isLong = codeOf(error) === "ERR_BUFFER_TOO_LARGE";
    return { bytes: isLong ? NOTHING : null, truncated: isLong };
  }
}

function failureOf(status: number, { host }: URL): RequestFailure | null {
  if (status >= 200 && status < 300) return null;
  const fix = status === 401 || status === 403 ? " Check the server's `secret_file`." : "";
  const name = STATUS_CODES[status];
  return queryFailed(`${host} answered ${status}${name === undefined ? "" : ` ${name}`}.${fix}`);
}

function unreadable({ host }: URL, encoding: string): RequestFailure {
  const shown = /^[a-z0-9-]{1,20}$/.test(encoding) ? encoding : "an unknown encoding";
  return queryFailed(`The answer of ${host} cannot be decompressed (${shown}).`);
}

function queryFailed(message: string): RequestFailure {
  return { code: "LICENSE_QUERY_FAILED", message };
}

function failed(status: number | null, failure: RequestFailure): Answer {
  return { status, stdout: NOTHING, truncated: false, broken: false, failure };
}

/** Describes an error by its code, because its message may quote the URL. */
function reasonOf(error: unknown, { host }: URL): RequestFailure {
  const code = codeOf(error);
  if (/CERT|SIGNATURE|ISSUER/.test(code)) {
    const fix = "Set the server's `ca_file` to the certificate of its CA, or renew the server's certificate.";
    return queryFailed(`The certificate of ${host} is not trusted (${code}). ${fix}`);
  }
  if (code === "EPROTO") return queryFailed(`${host} violates the TLS protocol (${code}).`);
  if (/^(Malformed|Invalid|Response|ERR_)/.test(code))
    return queryFailed(`${host} violates the HTTP protocol (${code}).`);
  const fix = "Check that the license server is running and that no firewall blocks the connection.";
  const message = `No license server answers at ${host} (${code}). ${fix}`;
  return { code: "LICENSE_SERVER_UNREACHABLE", message };
}

function trustOf(ca: string | null): { ca?: string } | null {
  if (ca === null) return {};
  try {
    new X509Certificate(ca);
    return { ca };
  } catch {
    return null;
  }
}

function shownUrl({ url, query = {} }: HttpQuestion): string {
  const shown = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) shown.append(name, fillSecrets(value, null));
  return shown.size === 0 ? url : `${url}?${shown}`;
}

function filledHeaders(headers: Readonly<Record<string, string>>, secrets: Secrets): Record<string, string> {
  // Headers are bytes, so send non-ASCII letters as UTF-8.
  const filled = (value: string) => Buffer.from(fillSecrets(value, secrets)).toString("latin1");
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, filled(value)]));
}

/** Returns a function that escapes a secret for a body of this content type. */
function escapeFor(headers: Readonly<Record<string, string>>): (value: string) => string {
  const [, type = ""] = Object.entries(headers).find(([name]) => name.toLowerCase() === "content-type") ?? [];
  if (/json/i.test(type)) return (value) => JSON.stringify(value).slice(1, -1);
  if (/x-www-form-urlencoded/i.test(type)) return encodeURIComponent;
  return (value) => value;
}

function isWeb({ protocol }: URL): boolean {
  return protocol === "http:" || protocol === "https:";
}

function isRedirect(status: number): boolean {
  return [301, 302, 303, 307, 308].includes(status);
}

const NOTHING = new Uint8Array(0);
