import type { TextFormat } from "../../export/family.ts";

/** `csv-bom` begins with a byte-order mark: without one, Excel takes UTF-8 for the code page of its host. */
export type Format = "json" | "csv" | "csv-bom";

/** A question and the format of its answer. */
export interface Formatted {
  readonly format: Format;
}

interface Wanted {
  readonly format?: "json" | "csv";
  readonly bom?: boolean;
}

/**
 * JSON or CSV. `format=` beats the Accept header; an Accept that names neither gets JSON, and `text/csv` must
 * be named itself: a browser's wildcard does not mean it.
 */
export function chooseFormat({ format, bom }: Wanted, accept: string | null): Format {
  if ((format ?? acceptedList(accept)) === "json") return "json";
  return bom === true ? "csv-bom" : "csv";
}

function acceptedList(accept: string | null): "json" | "csv" {
  const csv = preference(accept, "text/csv", EXACT);
  return csv > 0 && csv >= preference(accept, "application/json") ? "csv" : "json";
}

/**
 * The format of `/api/metrics`: JSON, unless Accept names a text format and prefers it. The text format must be named
 * itself or as `text/*`: a wildcard for everything means JSON, and libraries list `text/plain` beside JSON by default.
 */
export function metricsFormat(accept: string | null): TextFormat | "json" {
  const json = preference(accept, "application/json");
  const { text, openmetrics } = textPreferences(accept);
  return Math.max(text, openmetrics) > json ? scrapeFormat(accept) : "json";
}

/** The format of `/metrics`: OpenMetrics where Accept names it and prefers nothing else, otherwise the older text. */
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
 * Whether an answer is sent gzipped: where Accept-Encoding takes gzip and likes it no less than the bytes as they are.
 * A client that does not mention `identity` accepts it with the lowest preference (RFC 9110, 12.5.3).
 */
export function takesGzip(acceptEncoding: string | null): boolean {
  // RFC 9110, 8.4.1.3: a recipient takes x-gzip for gzip.
  const header = acceptEncoding?.replaceAll(/\bx-gzip\b/gi, "gzip") ?? null;
  const gzip = preference(header, "gzip");
  return gzip > 0 && gzip >= preference(header, "identity", EXACT);
}

/** How closely a range names an offer: itself, its family (`text/*`), or by a wildcard for everything. */
const EXACT = 3;
const FAMILY = 2;
const ANYTHING = 1;

/**
 * How much a client likes an offer, from 0 (refused, or not named) to 1, by its Accept or Accept-Encoding header.
 * Of the ranges that fit, the most specific one counts (RFC 9110, 12.5.1); ranges vaguer than `least` are ignored.
 * A range that asks for another `version` than the one offered does not fit; other parameters do not matter.
 */
function preference(header: string | null, offer: string, least = ANYTHING, version = ""): number {
  const family = `${offer.split("/", 1)[0]}/*`;
  let best = 0;
  let weight = 0;
  for (const range of (header ?? "").toLowerCase().split(",")) {
    const [name, ...rest] = range.split(";").map((part) => part.trim());
    const closeness =
      name === offer ? EXACT : name === family ? FAMILY : /^(\*\/)?\*$/.test(name ?? "") ? ANYTHING : 0;
    if (closeness < Math.max(least, best)) continue;
    const parameters = new Map(rest.map(parameterOf));
    if ((parameters.get("version") ?? version) !== version) continue;
    const own = qualityOf(parameters.get("q"));
    weight = closeness === best ? Math.max(weight, own) : own;
    best = closeness;
  }
  return weight;
}

/** `name=value` or `name="value"`, with blanks wherever a client puts them. */
function parameterOf(text: string): readonly [string, string] {
  const [name = "", ...value] = text.split("=");
  return [
    name.trim(),
    value
      .join("=")
      .trim()
      .replace(/^"(.*)"$/, "$1"),
  ];
}

/** A quality that is no number from 0 to 1 refuses the range. */
function qualityOf(text = "1"): number {
  const quality = text === "" ? 0 : Number(text);
  return quality >= 0 && quality <= 1 ? quality : 0;
}
