import { promisify } from "node:util";
import type { TextFormat } from "../../export/family.ts";

export interface Answer {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>>;
}

const encoder = new TextEncoder();

export function encode(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text);
}

export function jsonAnswer(body: Uint8Array<ArrayBuffer>): Answer {
  return { body, headers: { "content-type": "application/json; charset=utf-8" } };
}

export function valueAnswer(value: object): Answer {
  return jsonAnswer(encode(JSON.stringify(value)));
}

export function responseOf({ body, headers }: Answer): Response {
  return new Response(body, { headers: { ...headers } });
}

/** Minimum size of an answer to compress. Compression gains nothing if one packet suffices. */
export const LEAST_BYTES = 1_400;

/** Sends an answer, gzipped on another thread if the client accepts that. `zip` may use a cache. */
export function send(
  request: Request,
  answer: Answer,
  zip: (answer: Answer) => Promise<Answer> = zipped,
): Response | Promise<Response> {
  const zips = answer.body.byteLength >= LEAST_BYTES && takesGzip(request.headers.get("accept-encoding"));
  return zips ? zip(answer).then(responseOf) : responseOf(answer);
}

/**
 * Value of `Vary`: a cache must not give gzipped bytes to a client that does not accept them. Other fields
 * of `Vary` are added later.
 */
export const BY_ENCODING = "Accept-Encoding";

/** Gzips an answer. The body must not change until the promise resolves. */
export async function zipped({ body, headers }: Answer): Promise<Answer> {
  // Loaded for the first client that takes gzip: the module costs an idle daemon 3.4 MB.
  const { gzip } = await import("node:zlib");
  const { etag } = headers;
  return {
    body: new Uint8Array(await promisify(gzip)(body)),
    headers: {
      ...headers,
      ...(etag !== undefined && { etag: tagOfZipped(etag) }),
      "content-encoding": "gzip",
      vary: BY_ENCODING,
    },
  };
}

/** Returns the tag of the gzipped bytes, which need their own strong tag (RFC 9110, 8.8.3.3). */
export function tagOfZipped(etag: string): string {
  return etag.replace(/"$/, '-gzip"');
}

/** `csv-bom` begins with a byte-order mark: without one, Excel takes UTF-8 for the code page of its host. */
export type Format = "json" | "csv" | "csv-bom";

export interface Formatted {
  readonly format: Format;
  readonly ofSite?: OfSite;
}

/**
 * Site of the rows of an answer. Null at a hub, where each server id begins with its site. Undefined if no
 * fleet is configured, because rows then have no site.
 */
export type OfSite = string | null | undefined;

/**
 * Chooses JSON or CSV. `format=` takes precedence over the Accept header. JSON is the default. Accept must
 * name `text/csv`, because a browser's wildcard does not ask for CSV.
 */
export function formatOf(
  { format, bom }: { readonly format?: "json" | "csv"; readonly bom?: boolean },
  { headers }: Pick<Request, "headers">,
): Format {
  const accept = headers.get("accept");
  const csv = preference(accept, "text/csv", EXACT);
  const accepted = csv > 0 && csv >= preference(accept, "application/json") ? "csv" : "json";
  if ((format ?? accepted) === "json") return "json";
  return bom === true ? "csv-bom" : "csv";
}

export function formOf(
  query: Parameters<typeof formatOf>[0],
  { request, ofSite }: { readonly request: Pick<Request, "headers">; readonly ofSite: OfSite },
): Formatted {
  return { format: formatOf(query, request), ofSite };
}

/**
 * Returns the format of `/api/metrics`: JSON, unless Accept prefers a text format to JSON and names it, at
 * least as `text/*`. By default, libraries send JSON, `text/plain` and a wildcard without a preference.
 */
export function metricsFormat(accept: string | null): TextFormat | "json" {
  const { text, openmetrics } = textPreferences(accept);
  const preferred = Math.max(text, openmetrics) > preference(accept, "application/json");
  return preferred ? scrapeFormat(accept) : "json";
}

/** Returns the format of `/metrics`: OpenMetrics if Accept names it and prefers nothing else. */
export function scrapeFormat(accept: string | null): TextFormat {
  const { text, openmetrics } = textPreferences(accept);
  return openmetrics > 0 && openmetrics >= text ? "openmetrics" : "text";
}

function textPreferences(accept: string | null): Readonly<Record<TextFormat, number>> {
  return {
    text: preference(accept, "text/plain", FAMILY, "0.0.4"),
    openmetrics: preference(accept, "application/openmetrics-text", EXACT, "1.0.0"),
  };
}

/**
 * Reports whether to gzip an answer: if Accept-Encoding accepts gzip and does not prefer identity. A
 * missing `identity` has the lowest preference (RFC 9110, 12.5.3).
 */
export function takesGzip(acceptEncoding: string | null): boolean {
  return takesEncoding(acceptEncoding, "gzip");
}

export function takesEncoding(acceptEncoding: string | null, encoding: "gzip" | "br"): boolean {
  // RFC 9110, 8.4.1.3: x-gzip equals gzip.
  const header = acceptEncoding?.replaceAll(/\bx-gzip\b/gi, "gzip") ?? null;
  const liked = preference(header, encoding);
  return liked > 0 && liked >= preference(header, "identity", EXACT);
}

/** Values for how closely a range matches: the exact type, its family (`text/*`), or any. */
const EXACT = 3;
const FAMILY = 2;
const ANYTHING = 1;

/**
 * Returns the preference for an offer, 0 (refused or absent) to 1, from an Accept or Accept-Encoding
 * header. The most specific matching range counts (RFC 9110, 12.5.1); ranges vaguer than `least` are
 * ignored. A range with another `version` does not match; other parameters are ignored.
 */
function preference(header: string | null, offer: string, least = ANYTHING, version = ""): number {
  const family = `${offer.split("/", 1)[0]}/*`;
  let best = 0;
  let weight = 0;
  for (const range of (header ?? "").toLowerCase().split(",")) {
    const [name = "", ...rest] = range.split(";").map((part) => part.trim());
    const closeness =
      name === offer ? EXACT : name === family ? FAMILY : /^(\*\/)?\*$/.test(name) ? ANYTHING : 0;
    if (closeness < Math.max(least, best)) continue;
    // `name=value` or `name="value"`, with optional blanks.
    const parameters = Object.fromEntries(
      rest
        .map((part) => part.split(/\s*=\s*/, 2))
        .map(([key, value = ""]) => [key, value.replace(/^"(.*)"$/, "$1")]),
    );
    if ((parameters.version ?? version) !== version) continue;
    const own = qualityOf(parameters.q);
    weight = closeness === best ? Math.max(weight, own) : own;
    best = closeness;
  }
  return weight;
}

/** Parses the `q` of a range. An invalid `q` counts as 0. */
function qualityOf(text = "1"): number {
  const quality = text === "" ? 0 : Number(text);
  return quality >= 0 && quality <= 1 ? quality : 0;
}
