import { wallClock } from "../../../domain/time/zone.ts";
import {
  type DebugLog,
  type DebugLogEvent,
  type DebugLogReader,
  type LicenseEvent,
  type LicenseEventKind,
  noCounts,
  type ReaderOptions,
} from "../../debug-log/debug-log.ts";
import { createFirstDay, createLogDates, createToUtc } from "./dates.ts";
import { createHeadReader, DAY_SECONDS, isDull, printedDate } from "./head.ts";
import { isOpen, kindAt, readSeatWords } from "./message.ts";

const MAX_HELD = 50_000;
const MAX_SAMPLES = 20;
/** Characters of an event and the lines that go on with it: with each of them the event is read again. */
const MAX_WRAPPED = 4096;
const STARTED = /^(?:RE)?Started (\S+) \(/;
const STOPPED = /^(?:(\S+) exited with status|Shutting down (\S+))/;

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type Dated = Mutable<DebugLogEvent> & { at: number };

export function createDebugLogReader(options: ReaderOptions): DebugLogReader {
  const { zone, start, hold, onEvent } = options;
  const dates = createLogDates(start.day, start.second);
  const toUtc = createToUtc(zone);
  const counts = noCounts();
  const { head, read: readHead } = createHeadReader();
  const daemons = createDaemonNames(start.daemons);
  let [lastPrinted, lastDaemon] = ["", ""];
  let inferred = options.inferred ?? false;
  let nearDay: ((second: number) => number) | null = null;
  let recognised = false;
  let [firstAt, lastAt] = [null as number | null, null as number | null];

  /** The event of the line before: words of it may stand on this line. */
  let waiting: LicenseEvent | null = null;
  let waitingText = "";
  let waitingFrom = 0;
  let waitingDay = 0;
  let waitingSecond = 0;
  /** Events since a doubtful midnight, with day and second. */
  let held: { event: Dated; day: number; second: number }[] = [];

  function emit(event: DebugLogEvent, day: number, second: number): void {
    if (hold && dates.inDoubt) {
      held.push({ event: event as Dated, day, second });
      if (held.length >= MAX_HELD) release(0);
    } else onEvent(event);
  }

  function release(days: number): void {
    dates.inDoubt = false;
    const list = held;
    held = [];
    for (const { event, day, second } of list) {
      if (days !== 0) {
        event.at = toUtc(day + days, second);
        counts.redated++;
      }
      onEvent(event);
    }
  }

  function emitWaiting(): void {
    if (waiting === null) return;
    const event = waiting;
    waiting = null;
    emit(event, waitingDay, waitingSecond);
  }

  function dayOfLine(second: number): number {
    if (head.day !== null) {
      dates.dayOf(second);
      dates.day = head.day;
      if (held.length > 0) release(0);
      inferred = false;
      return head.day;
    }
    if (nearDay !== null) {
      const day = nearDay(second);
      dates.dayOf(second);
      dates.inDoubt = false;
      dates.day = day;
      return day;
    }
    return dates.dayOf(second);
  }

  function anchor(lineDay: number, printed: number): void {
    const behind = printed - lineDay;
    dates.day += behind;
    // One day is missing, and there is one place at which it can be.
    if (dates.inDoubt) release(behind === 1 ? 1 : 0);
    if (behind !== 0 && !inferred) counts.dateJumps++;
    inferred = false;
  }

  function malformed(text: string): void {
    counts.malformed++;
    if (counts.samples.length < MAX_SAMPLES)
      counts.samples.push({ line: counts.lines, text: text.slice(0, 200) });
  }

  function seatLine(kind: LicenseEventKind, text: string, from: number, day: number, second: number): void {
    const words = readSeatWords(text, from);
    if (words === null) {
      malformed(text);
      return;
    }
    counts.events[kind]++;
    if (inferred) counts.inferredDates++;
    const { feature, user, host, data, count, reason, code, handle, version } = words;
    const [at, daemon] = [lastAt ?? 0, lastDaemon];
    waiting = { kind, at, daemon, feature, user, host, data, count, reason, code, handle, version };
    waitingText = text;
    waitingFrom = from;
    waitingDay = day;
    waitingSecond = second;
  }

  /** A line without a time: the wrapped rest of an event, or of some other message. */
  function headless(text: string): void {
    if (text.trim() === "") return;
    if (waiting !== null) {
      const rest = text.trimStart();
      const fits = waitingText.length + rest.length <= MAX_WRAPPED;
      if (fits && (rest.startsWith("(") || rest.startsWith("^^^") || isOpen(waitingText, waitingFrom))) {
        waitingText = `${waitingText} ${rest}`;
        const words = readSeatWords(waitingText, waitingFrom);
        if (words !== null) waiting = { ...waiting, ...words };
        return;
      }
    }
    counts.withoutHead++;
  }

  function otherMessage(text: string, from: number, day: number, second: number): void {
    const isManager = head.daemon === "lmgrd";
    const printed = printedDate(text, from, second);
    if (printed !== null) {
      anchor(day, printed.day);
      if (printed.kind === "timestamp") counts.timestamps++;
      else counts.otherMessages++;
      if (printed.kind === "header" && isManager) tell("DAEMON_UP", null, printed.day, second);
      return;
    }
    counts.otherMessages++;
    const message = text.slice(from);
    const daemon = isManager ? null : lastDaemon;
    const started = STARTED.exec(message);
    const stopped = STOPPED.exec(message);
    if (started !== null) tell("DAEMON_UP", daemons.nameOf(started[1] ?? ""), day, second);
    else if (message.startsWith("EXITING DUE TO SIGNAL")) tell("DAEMON_DOWN", daemon, day, second);
    else if (stopped !== null)
      tell("DAEMON_DOWN", daemons.nameOf(stopped[1] ?? stopped[2] ?? ""), day, second);
  }

  function tell(kind: "DAEMON_UP" | "DAEMON_DOWN", daemon: string | null, day: number, second: number): void {
    emit({ kind, at: toUtc(day, second), daemon }, day, second);
  }

  return {
    line(text) {
      counts.lines++;
      if (!readHead(text)) return headless(text);
      emitWaiting();
      recognised = true;
      if (head.daemon !== lastPrinted) {
        lastPrinted = head.daemon;
        lastDaemon = daemons.nameOf(lastPrinted);
      }
      let second = head.second;
      if (second === -1) {
        counts.brokenTimes++;
        second = Math.max(0, dates.second);
      }
      const day = dayOfLine(second);
      lastAt = toUtc(day, second);
      firstAt ??= lastAt;
      const from = head.message;
      const kind = kindAt(text, from);
      if (kind !== null) {
        seatLine(kind, text, text.indexOf(":", from) + 1, day, second);
      } else if (text.length > from && !isDull(text, from)) otherMessage(text, from, day, second);
      else counts.otherMessages++;
    },
    near(at) {
      if (at === null) nearDay = null;
      else {
        const local = wallClock(zone, at) / 1000;
        nearDay = (second) => Math.round((local - second) / DAY_SECONDS);
      }
    },
    flush() {
      emitWaiting();
      release(0);
    },
    counts,
    state: () => ({ day: dates.day, second: dates.second, daemons: daemons.list() }),
    get firstAt() {
      return firstAt;
    },
    get lastAt() {
      return lastAt;
    },
    get recognised() {
      return recognised;
    },
  };
}

/** A log names a handful; the bound is on what a stranger can feed us. */
const MAX_DAEMONS = 100;
const FORK = /^(.+)_\d+$/;

/** The vendor daemons of a log, by the names that its lines begin with. */
function createDaemonNames(known: readonly string[]) {
  const daemons = new Set(known);
  /** What was found out: plain names, and forks of known ones. */
  const names = new Map<string, string>();
  return {
    /** The daemon behind a printed name: `acmed_2` is a fork of `acmed`, though only of one that is known. */
    nameOf(printed: string): string {
      const found = names.get(printed);
      if (found !== undefined) return found;
      const base = FORK.exec(printed)?.[1];
      const name = base !== undefined && daemons.has(base) ? base : printed;
      if (names.size < MAX_DAEMONS && (base === undefined || name === base)) names.set(printed, name);
      if (name === printed && daemons.size < MAX_DAEMONS) daemons.add(printed);
      return name;
    },
    list: () => [...daemons],
  };
}

/** What FlexNet's vendor daemons and lmgrd write. */
export const debugLog: DebugLog = {
  title: "FlexNet debug log",
  createReader: createDebugLogReader,
  createFirstDay,
};
