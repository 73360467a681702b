import { Value } from "@sinclair/typebox/value";
import type { FleetSettings } from "../config/config.ts";
import { codeOf } from "../domain/error-code.ts";
import { escapeControls, maskSecrets } from "../domain/plain-text.ts";
import { readSecretFile } from "../system/secret-file.ts";
import { Answer, PUSH_PATH } from "./protocol.ts";

/** Result of a push. `why` never contains a secret. */
export type Pushed =
  | { readonly outcome: "taken"; readonly answer: Answer }
  | { readonly outcome: "gap"; readonly cursor: number }
  | { readonly outcome: "unknown" }
  | { readonly outcome: "twin"; readonly why: string }
  | { readonly outcome: "refused"; readonly why: string }
  | { readonly outcome: "failed"; readonly why: string; readonly retryAfterMs: number | null };

const MAX_RETRY_AFTER_MS = 15 * 60_000;
const MAX_WORDS = 200;

type Target = Pick<FleetSettings, "url" | "apiKeyFile" | "caFile" | "certFile" | "certKeyFile">;

type Asked =
  | { readonly problem: string }
  | { readonly status: number; readonly headers: Headers; readonly text: string; readonly key: string };

/**
 * Posts a push, or gets a path below the hub's URL. Reads key and certificate files each time, so changes
 * apply at once.
 */
export async function askHub(
  target: Target,
  path: string,
  signal: AbortSignal,
  push: Uint8Array<ArrayBuffer> | null = null,
): Promise<Asked> {
  const key = await readSecretFile(target.apiKeyFile);
  if ("problem" in key) return { problem: `The api_key_file ${key.problem}` };
  const tls: Bun.TLSOptions & { rejectUnauthorized: boolean } = { rejectUnauthorized: true };
  for (const [name, file] of Object.entries({
    ca: target.caFile,
    cert: target.certFile,
    key: target.certKeyFile,
  })) {
    if (file === null) continue;
    const read = await readSecretFile(file);
    if ("problem" in read)
      return { problem: `The ${SETTINGS[name as keyof typeof SETTINGS]} ${read.problem}` };
    tls[name as keyof typeof SETTINGS] = read.text;
  }
  try {
    const base = target.url.endsWith("/") ? target.url : `${target.url}/`;
    const ofPush = { "content-type": "application/json", "content-encoding": "zstd" };
    const response = await fetch(new URL(path.slice(1), base), {
      method: push === null ? "GET" : "POST",
      body: push,
      signal,
      redirect: "manual",
      headers: { authorization: `Bearer ${key.text}`, "user-agent": "licmond", ...(push !== null && ofPush) },
      tls,
    });
    const { status, headers } = response;
    return { status, headers, text: await response.text(), key: key.text };
  } catch (error) {
    // The error's message may contain the URL.
    return {
      problem: signal.aborted ? "It did not answer in time" : `It cannot be reached (${codeOf(error)})`,
    };
  }
}

/** Sends one push. Never rejects. */
export async function postPush(
  target: Target,
  push: Uint8Array<ArrayBuffer>,
  signal: AbortSignal,
  now: () => number,
): Promise<Pushed> {
  const failed = (why: string, retryAfterMs: number | null = null) =>
    ({ outcome: "failed", why, retryAfterMs }) as const;
  const asked = await askHub(target, PUSH_PATH, signal, push);
  if ("problem" in asked) return failed(asked.problem);
  const { status, headers, text } = asked;
  const body = parsed(text);
  if (status === 200)
    return Value.Check(Answer, body)
      ? { outcome: "taken", answer: body }
      : failed("Unexpected answer; is this a hub?");
  if (status >= 300 && status < 400) return failed(`It answered ${status}: redirects are not followed`);
  const shortened = (fieldOf(body, "message") ?? text).slice(0, 4 * MAX_WORDS).replaceAll(asked.key, "***");
  const words = maskSecrets(escapeControls(shortened.trim())).slice(0, MAX_WORDS);
  if (status === 409) {
    const details = fieldOf(body, "details") ?? "";
    const [, cursor] = /^cursor=(\d{1,15})$/.exec(details) ?? [];
    if (cursor !== undefined) return { outcome: "gap", cursor: Number(cursor) };
    if (details === "epoch") return { outcome: "unknown" };
    if (details.startsWith("instance")) return { outcome: "twin", why: words };
  }
  const why = `It answered ${status}${words === "" ? "" : `: ${words}`}`;
  if (status >= 400 && status < 500 && status !== 429 && status !== 408) return { outcome: "refused", why };
  return failed(why, retryAfter(headers.get("retry-after"), now()));
}

const SETTINGS = { ca: "ca_file", cert: "cert_file", key: "cert_key_file" } as const;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function fieldOf(body: unknown, field: "details" | "message"): string | null {
  const value = (body as Record<string, unknown> | null)?.[field];
  return typeof value === "string" ? value : null;
}

/** Parses seconds or a date (RFC 9110, 10.2.3). */
function retryAfter(header: string | null, now: number): number | null {
  if (header === null) return null;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}
