import { MONTHS } from "../../domain/expiry.ts";
import { MINUTE_MS } from "../../domain/time/clock.ts";
import { isDate, localToUtc, wallClock } from "../../domain/time/zone.ts";

export interface Moment {
  readonly day: readonly [year: number, month: number, day: number];
  readonly at: number;
}

export type ReadDate = (text: string, zone: string) => Moment | null;

/** Letters of a pattern (Unicode TR35, "Date Format Patterns") and their expressions, longest first. */
const PARTS: readonly (readonly [letters: string, expression: string])[] = [
  ["yyyy", "(?<y>\\d{4})"],
  ["yy", "(?<y>\\d{2})"],
  ["MMM", "(?<M>[A-Za-z]{3,9})\\.?"],
  ["MM", "(?<M>\\d{2})"],
  ["M", "(?<M>\\d{1,2})"],
  ["dd", "(?<d>\\d{2})"],
  ["d", "(?<d>\\d{1,2})"],
  ["HH", "(?<H>\\d{2})"],
  ["H", "(?<H>\\d{1,2})"],
  ["hh", "(?<H>\\d{2})"],
  ["h", "(?<H>\\d{1,2})"],
  ["mm", "(?<m>\\d{2})"],
  ["ss", "(?<s>\\d{2})"],
  ["SSS", "(?<f>\\d{1,9})"],
  ["EEE", "[A-Za-z]{2,9}\\.?"],
  ["a", "(?<a>[AaPp])\\.?[Mm]\\.?"],
  ["X", "(?<X>[Zz]|[+-]\\d\\d:?\\d\\d)"],
];
/** In a pattern, `*` matches any text. */
const TOKEN = new RegExp(`${PARTS.map(([letters]) => letters).join("|")}|'[^']*'|[A-Za-z]+|\\s+|.`, "gu");

const ISO =
  /^\s*(?<y>\d{4})-(?<M>\d\d)-(?<d>\d\d)(?:[T ](?<H>\d\d):(?<m>\d\d)(?::(?<s>\d\d)(?:\.(?<f>\d{1,9}))?)?\s?(?<X>[Zz]|[+-]\d\d:?\d\d)?)?\s*$/u;

const EPOCHS: Readonly<Record<string, number>> = { unix: 1000, unix_ms: 1 };

/**
 * Tries the patterns in order, or ISO 8601 without patterns. Throws an Error that describes an invalid
 * pattern.
 */
export function dateReader(patterns: readonly string[]): ReadDate {
  const readers = patterns.length === 0 ? [momentReader(ISO)] : patterns.map(readerOf);
  return (text, zone) => {
    for (const read of readers) {
      const moment = read(text, zone);
      if (moment !== null) return moment;
    }
    return null;
  };
}

function readerOf(pattern: string): ReadDate {
  const unit = EPOCHS[pattern];
  if (unit === undefined) return momentReader(new RegExp(`^\\s*${expressionOf(pattern)}\\s*$`, "u"));
  return (text, zone) => {
    const at = /^\s*\d{1,16}\s*$/.test(text) ? Number(text) * unit : Number.NaN;
    if (!(at <= 8.64e15)) return null;
    const wall = new Date(wallClock(zone, at));
    return { at, day: [wall.getUTCFullYear(), wall.getUTCMonth() + 1, wall.getUTCDate()] };
  };
}

function expressionOf(pattern: string): string {
  const seen = new Set<string>();
  const parts = (pattern.match(TOKEN) ?? []).map((token) => {
    const part = PARTS.find(([letters]) => letters === token)?.[1];
    if (part !== undefined) {
      const name = /\?<(\w)>/.exec(part)?.[1];
      if (name !== undefined && seen.has(name)) throw new Error(`contains ${token} twice`);
      if (name !== undefined) seen.add(name);
      return part;
    }
    if (/^\s/u.test(token)) return "\\s+";
    if (token === "T") return token;
    if (token === "*") return ".*?";
    if (/^[A-Za-z]/.test(token)) {
      const known = PARTS.map(([letters]) => letters).join(" ");
      throw new Error(`contains unknown letters "${token}"; known are ${known} and quoted text '…'`);
    }
    return (token.startsWith("'") ? token.slice(1, -1) : token).replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  });
  for (const [name, word] of Object.entries({ y: "year", M: "month", d: "day" }))
    if (!seen.has(name)) throw new Error(`has no ${word}`);
  return parts.join("");
}

function momentReader(expression: RegExp): ReadDate {
  return (text, zone) => {
    const parts = expression.exec(text)?.groups;
    if (parts === undefined) return null;
    const { y = "", M = "", d = "", H = "0", m = "0", s = "0", f = "", a, X } = parts;
    const year = y.length === 2 ? Number(y) + (Number(y) < 70 ? 2000 : 1900) : Number(y);
    const month = /^\d/.test(M) ? Number(M) : MONTHS.indexOf(M.slice(0, 3).toLowerCase()) + 1;
    const day = Number(d);
    const hour = a === undefined ? Number(H) : (Number(H) % 12) + (/p/i.test(a) ? 12 : 0);
    if (!isDate(year, month, day) || hour > 23 || Number(m) > 59 || Number(s) > 59) return null;
    const ms = Number(f.padEnd(3, "0").slice(0, 3));
    const clock = [hour, Number(m), Number(s), ms] as const;
    const at = X === undefined ? localToUtc(zone, year, month, day, ...clock) : null;
    return {
      day: [year, month, day],
      at: at ?? localToUtc("UTC", year, month, day, ...clock) - offsetOf(X ?? "Z"),
    };
  };
}

function offsetOf(text: string): number {
  const [, sign, hours = "0", minutes = "0"] = /^([+-])(\d\d):?(\d\d)$/.exec(text) ?? [];
  return (Number(hours) * 60 + Number(minutes)) * MINUTE_MS * (sign === "-" ? -1 : 1);
}
