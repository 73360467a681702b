import { codeOf } from "../../domain/error-code.ts";
import type { Snapshot } from "../../domain/picture.ts";
import { escapeControls, maskSecrets } from "../../domain/plain-text.ts";
import { readSecretFile, type SecretRead } from "../../system/secret-file.ts";
import type { Emit, Labels } from "../family.ts";
import { emitServer } from "../server-metrics.ts";

/**
 * Encodes messages of Prometheus remote write 1.0 in the protocol buffers wire format, which needs three kinds of fields:
 * https://prometheus.io/docs/specs/prw/remote_write_spec/ and https://protobuf.dev/programming-guides/encoding/
 *
 *   WriteRequest { repeated TimeSeries timeseries = 1; }
 *   TimeSeries   { repeated Label labels = 1; repeated Sample samples = 2; }
 *   Label        { string name = 1; string value = 2; }
 *   Sample       { double value = 1; int64 timestamp = 2; }   // epoch milliseconds
 */
const VARINT = 0;
const FIXED64 = 1;
const LENGTH = 2;

/** Bytes as a string with one character per byte. As keys of a set, tens of thousands of series take a quarter of the memory of byte arrays. */
type ByteText = string;

/** Marks the end of a series: Prometheus recognizes this NaN by its bits (0x7ff0000000000002). */
export const STALE = Symbol("stale");
const STALE_BYTES: ByteText = "\x02\0\0\0\0\0\xf0\x7f";

export interface SeriesSample {
  readonly labels: ByteText;
  readonly value: number | typeof STALE;
}

/** Encodes a WriteRequest of samples that all have the time `at`, epoch ms. */
export function encodeRequest(samples: readonly SeriesSample[], at: number): Uint8Array<ArrayBuffer> {
  const time = key(2, VARINT) + varint(at);
  const series = samples.map(({ labels, value }) => {
    const bytes = value === STALE ? STALE_BYTES : double(value);
    return field(1, labels + field(2, key(1, FIXED64) + bytes + time));
  });
  return new Uint8Array(Buffer.from(series.join(""), "latin1"));
}

export function encodeLabel(name: string, value: string): ByteText {
  return field(1, field(1, utf8(name)) + field(2, utf8(value)));
}

function field(number: number, bytes: ByteText): ByteText {
  return key(number, LENGTH) + varint(bytes.length) + bytes;
}

function key(number: number, kind: number): ByteText {
  return String.fromCharCode(number * 8 + kind);
}

function varint(value: number): ByteText {
  let text = "";
  // Times need 41 bits, which 32-bit shifts would truncate.
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) text += String.fromCharCode((rest % 0x80) | 0x80);
  return text + String.fromCharCode(rest);
}

const eight = Buffer.alloc(8);

function double(value: number): ByteText {
  eight.writeDoubleLE(value);
  return eight.toString("latin1");
}

function utf8(text: string): ByteText {
  return /^[\x00-\x7f]*$/.test(text) ? text : Buffer.from(text).toString("latin1");
}

/** Sorts labels by name and drops empty values. Names must be unique. */
export function sortedLabels(labels: Labels): Labels {
  return labels.filter(([, value]) => value !== "").toSorted(([a], [b]) => (a < b ? -1 : 1));
}

const NAME = "__name__";

/** Tracks the written series, to mark each that ends exactly once. */
export function createSeriesTracker() {
  let written: ReadonlySet<ByteText> = new Set();
  const names = new Map<string, ByteText>();

  /**
   * Gathers the samples of one time into `into`, step by step. Ended series come last. `external` labels
   * are added unless a series has a label of the same name, as in Prometheus.
   */
  return function* gather(
    snapshot: Snapshot,
    service: (emit: Emit) => void,
    external: Labels,
    into: SeriesSample[],
  ): Generator<void> {
    const now = new Set<ByteText>();
    // Families of a feature share their labels: those sorted before the name, and those after it.
    let last: { readonly of: Labels; readonly before: ByteText; readonly behind: ByteText } | null = null;
    const emit: Emit = (family, labels, value, suffix) => {
      if (last?.of !== labels) last = { of: labels, ...aroundName(labels, external) };
      const name = family.name + (suffix ?? "");
      const series =
        last.before + names.getOrInsertComputed(name, () => encodeLabel(NAME, name)) + last.behind;
      now.add(series);
      into.push({ labels: series, value });
    };
    for (const picture of snapshot.servers) {
      yield* emitServer(picture, emit);
      yield;
    }
    service(emit);
    yield;
    for (const labels of written.difference(now)) into.push({ labels, value: STALE });
    written = now;
  };
}

function aroundName(labels: Labels, external: Labels): { before: ByteText; behind: ByteText } {
  const own = new Set(labels.map(([label]) => label));
  const all = sortedLabels([...labels, ...external.filter(([label]) => !own.has(label))]);
  const encoded = (part: Labels) => part.map(([name, value]) => encodeLabel(name, value)).join("");
  const isBefore = ([name]: Labels[number]) => name < NAME;
  return { before: encoded(all.filter(isBefore)), behind: encoded(all.filter((one) => !isBefore(one))) };
}

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

/** Returns the start of an error answer, in which Prometheus names the rejected sample. */
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
