import { DAY_MS } from "../../domain/time/clock.ts";
import { isDate, wallClock } from "../../domain/time/zone.ts";
import {
  type DebugLog,
  type DebugLogReader,
  type FirstDay,
  type LicenseEvent,
  noCounts,
  type ReaderOptions,
} from "../debug-log/debug-log.ts";
import { createToUtc, DAY_SECONDS } from "../debug-log/to-utc.ts";

type Seat = Pick<LicenseEvent, "feature" | "version" | "user" | "host" | "count" | "reason">;

const HEAD = /^\s*(\d\d)\/(\d\d) (\d\d):(\d\d)(?::(\d\d)(?:\.\d{1,6})?)? \(([^()\s]{1,100})\)/;
const EVENT = /^(OUT|IN|DENIED): +/;
const CODE = /\s*\((-\d{1,4})\)\s*$/;
const EXIT = /\bexiting\b/i;
const MAX_SAMPLES = 20;
const MAX_REASON = 300;
/**
 * Maximum step back, in days, from a line to the next. Servers write a line every midnight, so lines are
 * rarely out of order.
 */
const BACK_DAYS = 31;
const HALF_YEAR_DAYS = 182;

/** Parses `MM/DD HH:MM (isv)`. Returns null if these are missing or the time is impossible. */
function readHead(line: string) {
  const found = HEAD.exec(line);
  if (found === null) return null;
  const [month = 0, day = 0, hour = 0, minute = 0, second = 0] = found
    .slice(1, 6)
    .map((text) => Number(text ?? 0));
  // 2000 was a leap year.
  if (!isDate(2000, month, day) || hour > 23 || minute > 59 || second > 59) return null;
  return {
    month,
    day,
    second: hour * 3600 + minute * 60 + second,
    isv: found[6] ?? "",
    message: line.slice(found[0].length),
  };
}

/**
 * Returns the first day on or after `earliest` with this month and day. The 29th of February may become the
 * 1st of March.
 */
function firstFrom(month: number, day: number, earliest: number): number {
  const year = new Date(earliest * DAY_MS).getUTCFullYear();
  const found = Date.UTC(year, month - 1, day) / DAY_MS;
  return found >= earliest ? found : Date.UTC(year + 1, month - 1, day) / DAY_MS;
}

/**
 * Parses `[(count)] [(reason)] PRODUCT vVERSION by USER@HOST` (`to` for denials). Only users contain blanks
 * and `@`.
 */
function readSeat(text: string, word: "by" | "to"): Seat | null {
  let count = 1;
  let reason: string | null = null;
  let rest = text;
  while (rest.startsWith("(")) {
    const end = rest.indexOf(")");
    if (end === -1) return null;
    const words = rest.slice(1, end);
    if (/^[1-9]\d{0,8}$/.test(words)) count = Number(words);
    else reason = words;
    rest = rest.slice(end + 1).trimStart();
  }
  const at = rest.indexOf(` ${word} `);
  const versionAt = rest.lastIndexOf(" v", at - 1);
  const who = rest.slice(at + word.length + 2);
  const blank = who.indexOf(" ", who.indexOf("@"));
  const end = blank === -1 ? who.length : blank;
  const sign = who.lastIndexOf("@", end - 1);
  if (at === -1 || versionAt < 1 || sign < 0) return null;
  return {
    feature: rest.slice(0, versionAt),
    version: rest.slice(versionAt + 1, at),
    user: who.slice(0, sign) || null,
    host: who.slice(sign + 1, end) || null,
    count,
    reason,
  };
}

/**
 * Reads the debug log of rlm and its ISV servers (`-dlog`, or DEBUGLOG in an ISV options file):
 *
 *     06/04 09:15 (paintco) OUT: brush v2025.06 by ann@ws-01
 *     06/04 09:20 (paintco) IN: (client exit) brush v2025.06 by ann@ws-01
 *     06/04 09:21 (paintco) DENIED: (1) brush v2025.06 to bob@ws-02
 *         All licenses in use (-22)
 *
 * Lines contain neither a year nor seconds. Reprise does not document the messages; they are known from published logs
 * of server starts and from a published reader of such logs.
 */
function createReader({ zone, start, inferred = false, onEvent, onNotice }: ReaderOptions): DebugLogReader {
  const counts = noCounts();
  const toUtc = createToUtc(zone);
  let { day, second } = start;
  /** Approximate day of the next lines in the server's zone; null = unknown. */
  let nearDay: number | null = null;
  let denial: LicenseEvent | null = null;

  function emitDenial(): void {
    if (denial !== null) onEvent(denial);
    denial = null;
  }

  function addReason(text: string): void {
    if (denial === null) return;
    const code = CODE.exec(text);
    const words = (code === null ? text : text.slice(0, code.index)).trim();
    const reason = [denial.reason, words].filter(Boolean).join("; ").slice(0, MAX_REASON) || null;
    denial = { ...denial, reason, code: code === null ? denial.code : Number(code[1]) };
  }

  function takeEvent(line: string, message: string, daemon: string, at: number): boolean {
    const found = EVENT.exec(message);
    if (found === null) return false;
    const kind = found[1] as "OUT" | "IN" | "DENIED";
    const seat = readSeat(message.slice(found[0].length), kind === "DENIED" ? "to" : "by");
    if (seat === null) {
      counts.malformed++;
      if (counts.samples.length < MAX_SAMPLES)
        counts.samples.push({ line: counts.lines, text: line.slice(0, 200) });
      return true;
    }
    counts.events[kind]++;
    if (inferred) counts.inferredDates++;
    const event: LicenseEvent = { kind, at, daemon, ...seat, data: null, code: null, handle: null };
    if (kind === "DENIED") denial = event;
    else onEvent(event);
    return true;
  }

  const reader = {
    line(line: string) {
      counts.lines++;
      const head = readHead(line);
      if (head === null) {
        if (line.trim() === "") return;
        if (denial === null) counts.withoutHead++;
        addReason(line);
        return;
      }
      day = firstFrom(head.month, head.day, nearDay === null ? day - BACK_DAYS : nearDay - HALF_YEAR_DAYS);
      second = head.second;
      const at = toUtc(day, second);
      reader.lastAt = at;
      reader.firstAt ??= at;
      const { isv } = head;
      const message = head.message.trimStart();
      if (denial !== null && denial.daemon === isv && CODE.test(message) && !EVENT.test(message))
        return addReason(message);
      emitDenial();
      if (takeEvent(line, message, isv, at)) return;
      counts.otherMessages++;
      if (message.startsWith("Server started on ")) onEvent({ kind: "DAEMON_UP", at, daemon: isv });
      else if (message.startsWith("License server started on "))
        onEvent({ kind: "DAEMON_UP", at, daemon: null });
      // For example `Cannot bind Web Server port 5054, exiting`.
      if (EXIT.test(message))
        onNotice?.({ about: "exit", at, daemon: isv === "rlm" ? null : isv, text: message });
    },
    near(at: number | null) {
      nearDay = at === null ? null : Math.floor(wallClock(zone, at) / DAY_MS);
    },
    flush: emitDenial,
    counts,
    state: () => ({ day, second, daemons: [] }),
    firstAt: null as number | null,
    lastAt: null as number | null,
  };
  return reader;
}

/**
 * Infers the first day of a log whose lines have no year: counts the turns of the year up to the last line,
 * which is at most as new as the file.
 */
function createFirstDay(zone: string): FirstDay {
  let first: number | null = null;
  let last = 0;
  let second = 0;
  return {
    line(text) {
      const head = readHead(text);
      if (head === null) return false;
      // Use the 28th instead of the 29th of February: the years are counted from 1970, which was not a leap year.
      const day = head.month === 2 ? Math.min(head.day, 28) : head.day;
      last = firstFrom(head.month, day, first === null ? 0 : last - BACK_DAYS);
      first ??= last;
      second = head.second;
      return false;
    },
    result(lastWrite) {
      const local = wallClock(zone, lastWrite) / 1000;
      // Allow some slack for different clocks.
      const latest = Math.floor((local + 300 - second) / DAY_SECONDS);
      if (first === null) return { day: latest, inferred: true };
      const end = new Date(last * DAY_MS);
      const begin = new Date(first * DAY_MS);
      const years = end.getUTCFullYear() - begin.getUTCFullYear();
      let year = new Date(latest * DAY_MS).getUTCFullYear();
      const isThen = () =>
        isDate(year, end.getUTCMonth() + 1, end.getUTCDate()) &&
        Date.UTC(year, end.getUTCMonth(), end.getUTCDate()) / DAY_MS <= latest;
      while (!isThen()) year--;
      const day = Date.UTC(year - years, begin.getUTCMonth(), begin.getUTCDate()) / DAY_MS;
      return { day, inferred: true };
    },
  };
}

export const debugLog: DebugLog = {
  title: "RLM debug log",
  experimental: true,
  createReader,
  createFirstDay,
};
