import { codeOf } from "../../domain/error-code.ts";
import { escapeControls, maskSecrets } from "../../domain/plain-text.ts";
import { readSecretFile, type SecretRead } from "../../system/secret-file.ts";

export interface WriteTarget {
  readonly url: string;
  /** User of basic authentication, with the token as its password. */
  readonly username: string | null;
  readonly tokenFile: string | null;
}

/** Outcome of a request. `why` contains no secrets. */
export type Posted =
  | { readonly outcome: "taken" }
  | { readonly outcome: "refused"; readonly status: number; readonly why: string }
  | { readonly outcome: "failed"; readonly why: string; readonly retryAfterMs: number | null };

/** Maximum pause that a receiver may request. */
const MAX_RETRY_AFTER_MS = 15 * 60_000;
const MAX_WORDS = 200;

/**
 * Sends one compressed WriteRequest with remote write 1.0: 2xx is success, 5xx and 429 are retried, other 4xx are not.
 * Does not follow redirects, and always verifies certificates. Never rejects.
 */
export async function post(
  { url, username, tokenFile }: WriteTarget,
  body: Uint8Array<ArrayBuffer>,
  signal: AbortSignal,
  now: () => number,
): Promise<Posted> {
  const failed = (why: string, retryAfterMs: number | null = null) =>
    ({ outcome: "failed", why, retryAfterMs }) as const;
  const authorization = (token: string) =>
    username === null ? `Bearer ${token}` : `Basic ${Buffer.from(`${username}:${token}`).toString("base64")}`;
  const token = tokenFile === null ? null : await readToken(tokenFile);
  if (token !== null && "problem" in token) return failed(`The token_file ${token.problem}`);
  let response: Response;
  try {
    response = await fetch(url, {
      method: "POST",
      body,
      signal,
      redirect: "manual",
      headers: {
        "content-type": "application/x-protobuf",
        "content-encoding": "snappy",
        "x-prometheus-remote-write-version": "0.1.0",
        "user-agent": "licmond",
        ...(token !== null && { authorization: authorization(token.text) }),
      },
      tls: { rejectUnauthorized: true },
    });
  } catch (error) {
    // The error message may quote the URL.
    return failed(signal.aborted ? "It did not answer in time" : `It cannot be reached (${codeOf(error)})`);
  }
  const { status, headers } = response;
  if (status < 400) await response.body?.cancel().catch(() => {});
  if (status >= 200 && status < 300) return { outcome: "taken" };
  if (status >= 300 && status < 400) return failed(`It answered ${status}: redirects are not followed`);
  const words = await wordsOf(response, token?.text ?? null);
  const why = `It answered ${status}${words === "" ? "" : `: ${words}`}`;
  if (status >= 400 && status < 500 && status !== 429) return { outcome: "refused", status, why };
  return failed(why, retryAfter(headers.get("retry-after"), now()));
}

async function readToken(file: string): Promise<SecretRead> {
  const read = await readSecretFile(file);
  if ("problem" in read || !/[^\x21-\x7e]/.test(read.text)) return read;
  return { problem: "must contain exactly one token" };
}

/** Returns the start of an error answer: Prometheus names the rejected sample. */
async function wordsOf(response: Response, token: string | null): Promise<string> {
  try {
    const reader = response.body?.getReader();
    const chunk = await reader?.read();
    await reader?.cancel();
    const text = new TextDecoder().decode(chunk?.value?.subarray(0, 4 * MAX_WORDS));
    const known = token === null ? text : text.replaceAll(token, "***");
    return maskSecrets(escapeControls(known.trim())).slice(0, MAX_WORDS);
  } catch {
    return "";
  }
}

/** Parses Retry-After: seconds or a date (RFC 9110, 10.2.3). */
function retryAfter(header: string | null, now: number): number | null {
  if (header === null) return null;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}
