import { addressOf, type Query } from "./api.ts";
import { moment } from "./format.ts";

/** Ranges that end now. */
export const RANGES = ["24h", "7d", "30d", "1y"] as const;
export type RangeWord = (typeof RANGES)[number];
const DAYS: Readonly<Record<RangeWord, number>> = { "24h": 1, "7d": 7, "30d": 30, "1y": 365 };
export const DAY_MS = 86_400_000;

/** A past period in epoch ms; `word` is null if it does not end now. */
export type Range = Readonly<{ start: number; end: number; word: RangeWord | null }>;

export const rangeWord = (word: RangeWord): string => word.replace(/\d+/, "$& ");

/** Parses the range of an address: `7d`, or two times with a slash. Any other text means `otherwise`. */
export function rangeOf(text: string | null, now: number, otherwise: RangeWord): Range {
  const [start = Number.NaN, end = Number.NaN] = (text ?? "").split("/").map((time) => Date.parse(time));
  if (start < end) return { start, end, word: null };
  const word = RANGES.find((each) => each === text) ?? otherwise;
  return { start: now - DAYS[word] * DAY_MS, end: now, word };
}

export const rangeText = (start: number, end: number): string =>
  `${new Date(start).toISOString()}/${new Date(end).toISOString()}`;

/** Returns API parameters. A range that ends now stays relative, so that a copied command works tomorrow. */
export function rangeQuery({ start, end, word }: Range): { readonly start: string; readonly end?: string } {
  if (word !== null) return { start: `-${DAYS[word]}d` };
  return { start: new Date(start).toISOString(), end: new Date(end).toISOString() };
}

/**
 * Returns the interval of a chart's steps: an hour for ranges of two days to a month, for which `auto`
 * would choose days.
 */
export const stepOf = ({ start, end }: Pick<Range, "start" | "end">): "1h" | "auto" =>
  end - start > 2 * DAY_MS && end - start < 32 * DAY_MS ? "1h" : "auto";

export const before = ({ start, end }: Range): Range => ({ start: 2 * start - end, end: start, word: null });

/** Formats `Mon 10:30 to Tue 10:30`. */
export const rangeInWords = ({ start, end }: Pick<Range, "start" | "end">, now: number): string =>
  `${moment(start, now)} to ${end >= now - 60_000 ? "now" : moment(end, now)}`;

export const ZONE = new Intl.DateTimeFormat().resolvedOptions().timeZone;

export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Formats an API call as a curl command. `base` is the page's address up to the last slash. */
export const curlOf = (base: string, path: string, query: Query): string =>
  `curl -H "X-API-Key: $LICMOND_API_KEY" ${quoted(new URL(`.${addressOf(path, query)}`, base).href)}`;
