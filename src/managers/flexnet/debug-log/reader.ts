import { wallClock } from "../../../domain/zone.ts";
import { createDaemonNames } from "./daemon-names.ts";
import { createLogDates, createToUtc } from "./dates.ts";
import {
  type DebugLogCounts,
  type DebugLogEvent,
  type LicenseEvent,
  type LicenseEventKind,
  noCounts,
} from "./event.ts";
import { kindAt } from "./event-kind.ts";
import { createHeadReader, DAY_SECONDS } from "./head.ts";
import { isOpen, readSeatWords } from "./message.ts";
import { isDull, printedDate } from "./printed-date.ts";

/** Where a reader stands, for one that goes on later. Plain JSON. */
export interface ReaderState {
  /** Days since 1970-01-01 in the server's zone. */
  readonly day: number;
  /** Second of the day of the last line; -1 before the first. */
  readonly second: number;
  /** Daemons seen, to tell `acmed_2` (a fork of `acmed`) from a daemon of that name. */
  readonly daemons: readonly string[];
}

export interface ReaderOptions {
  /** IANA zone in which the server prints its times. */
  readonly zone: string;
  /** The day of the first line, or where an earlier reader stood. */
  readonly start: ReaderState;
  /** The day is a guess until a date is printed. */
  readonly inferred?: boolean;
  /**
   * Whether events after a doubtful midnight may wait for the next printed date (hours of log). Who follows a log as
   * it grows does not wait: it says when it read the lines, see {@link DebugLogReader.near}.
   */
  readonly hold: boolean;
  readonly onEvent: (event: DebugLogEvent) => void;
}

/**
 * Reads a debug log line by line. It never throws, whatever the lines hold, and takes time linear in their length.
 * An event is told when the next line shows that nothing more belongs to it.
 */
export interface DebugLogReader {
  /** One line without its line end. */
  line(text: string): void;
  /** The next lines were written at about this time (epoch ms): their day is the one that comes closest. Null = not known. */
  near(at: number | null): void;
  /** Tells what still waits. Lines may follow all the same. */
  flush(): void;
  readonly counts: DebugLogCounts;
  state(): ReaderState;
  /** Time of the first and the last line with a time, epoch ms; null before. */
  readonly firstAt: number | null;
  readonly lastAt: number | null;
  /** False until a line with a time and a daemon was read. */
  readonly recognised: boolean;
}

const MAX_HELD = 50_000;
const MAX_SAMPLES = 20;
/** Characters of an event and the lines that go on with it: each of them has the event read anew. */
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
    dates.settle();
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
      dates.set(head.day);
      if (held.length > 0) release(0);
      inferred = false;
      return head.day;
    }
    if (nearDay !== null) {
      const day = nearDay(second);
      dates.dayOf(second);
      dates.settle();
      dates.set(day);
      return day;
    }
    return dates.dayOf(second);
  }

  function anchor(lineDay: number, printed: number): void {
    const behind = dates.anchor(lineDay, printed);
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
    waiting = {
      kind,
      at: lastAt ?? 0,
      daemon: lastDaemon,
      feature,
      user,
      host,
      data,
      count,
      reason,
      code,
      handle,
      version,
    };
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
      if (printed.kind === "header" && isManager) up(null, printed.day, second);
      return;
    }
    counts.otherMessages++;
    const message = text.slice(from);
    const daemon = isManager ? null : lastDaemon;
    const started = STARTED.exec(message);
    const stopped = STOPPED.exec(message);
    if (started !== null) up(daemons.nameOf(started[1] ?? ""), day, second);
    else if (message.startsWith("EXITING DUE TO SIGNAL")) down(daemon, day, second);
    else if (stopped !== null) down(daemons.nameOf(stopped[1] ?? stopped[2] ?? ""), day, second);
  }

  function up(daemon: string | null, day: number, second: number): void {
    emit({ kind: "DAEMON_UP", at: toUtc(day, second), daemon }, day, second);
  }

  function down(daemon: string | null, day: number, second: number): void {
    emit({ kind: "DAEMON_DOWN", at: toUtc(day, second), daemon }, day, second);
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
