import { wallClock } from "../../../domain/time/zone.ts";
import type {
  DaemonEvent,
  DaemonNotice,
  DebugLog,
  DebugLogEvent,
  DebugLogReader,
  LicenseEvent,
  LicenseEventKind,
  ReaderOptions,
} from "../../debug-log/debug-log.ts";
import { noCounts } from "../../debug-log/debug-log.ts";
import { createToUtc, DAY_SECONDS } from "../../debug-log/to-utc.ts";
import { createFirstDay, createLogDates, printedDate, readHead } from "./dates.ts";
import { isOpen, kindAt, readSeatWords } from "./message.ts";

const MAX_HELD = 50_000;
const MAX_SAMPLES = 20;
/**
 * Maximum length in characters of an event that spans several lines, because each further line parses the
 * whole event again.
 */
const MAX_WRAPPED = 4096;
/**
 * Maximum number of daemons to remember. Logs contain only a few; the limit bounds the memory that an
 * untrusted log can use.
 */
const MAX_DAEMONS = 100;
const FORK = /^(.+)_\d+$/;
const STARTED = /^(?:RE)?Started (\S+) \(/;
const STOPPED = /^(?:(\S+) exited with status|Shutting down (\S+))/;
const SIGNALLED = "EXITING DUE TO SIGNAL";
/** Matches whole phrases, because a feature may be named "clock". */
const CLOCK =
  /\bsystem clock\b|\bclock (?:was |has been )?(?:set|turned) back\b|\bclock difference\b|\bwindback\b/i;

interface Dated<Event> {
  readonly event: Event;
  readonly day: number;
  readonly second: number;
}
type Waiting = Dated<LicenseEvent> & { readonly text: string; readonly from: number };

export function createDebugLogReader(options: ReaderOptions): DebugLogReader {
  const { zone, start, hold, onEvent, onNotice } = options;
  const dates = createLogDates(start.day, start.second);
  const toUtc = createToUtc(zone);
  const counts = noCounts();
  const daemons = new Set(start.daemons);
  let lastDaemon = "";
  let inferred = options.inferred ?? false;
  /** Approximate time of the next lines, in seconds of the server's clock; null = unknown. */
  let nearNow: number | null = null;

  /** Event of the previous line, which the next line may continue. */
  let waiting: Waiting | null = null;
  /** Events since an uncertain midnight. */
  let held: Dated<DebugLogEvent>[] = [];

  function emit(dated: Dated<DebugLogEvent>): void {
    if (hold && dates.inDoubt) held.push(dated);
    else onEvent(dated.event);
    if (held.length >= MAX_HELD) release(0);
  }

  function release(days: number): void {
    dates.inDoubt = false;
    const list = held;
    held = [];
    if (days !== 0) counts.redated += list.length;
    for (const { event, day, second } of list)
      onEvent(days === 0 ? event : { ...event, at: toUtc(day + days, second) });
  }

  function emitWaiting(): void {
    if (waiting !== null) emit(waiting);
    waiting = null;
  }

  function dayOfLine(second: number, printed: number | null): number {
    const day = dates.dayOf(second);
    if (printed !== null) {
      dates.day = printed;
      if (held.length > 0) release(0);
      inferred = false;
    } else if (nearNow !== null) {
      dates.inDoubt = false;
      dates.day = Math.round((nearNow - second) / DAY_SECONDS);
    } else return day;
    return dates.day;
  }

  function anchor(lineDay: number, printed: number): void {
    const behind = printed - lineDay;
    dates.day += behind;
    // If exactly one day is missing, the uncertain midnight was a real one.
    if (dates.inDoubt) release(behind === 1 ? 1 : 0);
    if (behind !== 0 && !inferred) counts.dateJumps++;
    inferred = false;
  }

  function seatLine(kind: LicenseEventKind, text: string, from: number, day: number, second: number): void {
    const words = readSeatWords(text, from);
    if (words === null) {
      counts.malformed++;
      if (counts.samples.length < MAX_SAMPLES)
        counts.samples.push({ line: counts.lines, text: text.slice(0, 200) });
      return;
    }
    counts.events[kind]++;
    if (inferred) counts.inferredDates++;
    waiting = {
      event: { kind, at: reader.lastAt ?? 0, daemon: lastDaemon, ...words },
      day,
      second,
      text,
      from,
    };
  }

  /** Reads a line without a time, which may continue an event. */
  function headless(text: string): void {
    if (text.trim() === "") return;
    const rest = text.trimStart();
    if (waiting === null || !goesOn(waiting, rest)) {
      counts.withoutHead++;
      return;
    }
    const whole = `${waiting.text} ${rest}`;
    const words = readSeatWords(whole, waiting.from);
    waiting = { ...waiting, text: whole, event: { ...waiting.event, ...words } };
  }

  function goesOn({ text, from }: Waiting, rest: string): boolean {
    if (text.length + rest.length > MAX_WRAPPED) return false;
    return rest.startsWith("(") || rest.startsWith("^^^") || isOpen(text, from);
  }

  function otherMessage(text: string, from: number, day: number, second: number): void {
    const tell = (kind: DaemonEvent["kind"], daemon: string | null, on = day) =>
      emit({ event: { kind, at: toUtc(on, second), daemon }, day: on, second });
    const isManager = lastDaemon === "lmgrd";
    const printed = printedDate(text, from, second);
    if (printed !== null) {
      anchor(day, printed.day);
      if (printed.kind === "timestamp") counts.timestamps++;
      else counts.otherMessages++;
      if (printed.kind === "header" && isManager) tell("DAEMON_UP", null, printed.day);
      return;
    }
    counts.otherMessages++;
    const message = text.slice(from);
    const daemon = isManager ? null : lastDaemon;
    const started = STARTED.exec(message);
    const stopped = STOPPED.exec(message);
    const notify = (about: DaemonNotice["about"], of: string | null) =>
      onNotice?.({ about, at: toUtc(day, second), daemon: of, text: message });
    if (started !== null) tell("DAEMON_UP", nameOf(started[1] ?? ""));
    else if (message.startsWith(SIGNALLED)) {
      tell("DAEMON_DOWN", daemon);
      notify("exit", daemon);
    } else if (stopped !== null) {
      const name = nameOf(stopped[1] ?? stopped[2] ?? "");
      tell("DAEMON_DOWN", name);
      notify(stopped[1] === undefined ? "shutdown" : "exit", name);
    } else if (onNotice !== undefined && CLOCK.test(message)) notify("clock", daemon);
  }

  /** Returns the daemon of a printed name: `acmed_2` is a fork of `acmed` if that daemon is known. */
  function nameOf(printed: string): string {
    const base = printed.includes("_") ? FORK.exec(printed)?.[1] : undefined;
    if (base !== undefined && daemons.has(base)) return base;
    if (daemons.size < MAX_DAEMONS) daemons.add(printed);
    return printed;
  }

  const reader = {
    line(text: string) {
      counts.lines++;
      const head = readHead(text);
      if (head === null) return headless(text);
      emitWaiting();
      lastDaemon = nameOf(head.daemon);
      if (head.second === -1) counts.brokenTimes++;
      const second = head.second === -1 ? Math.max(0, dates.second) : head.second;
      const day = dayOfLine(second, head.day);
      reader.lastAt = toUtc(day, second);
      reader.firstAt ??= reader.lastAt;
      const from = head.message;
      const kind = kindAt(text, from);
      if (kind !== null) seatLine(kind, text, text.indexOf(":", from) + 1, day, second);
      else otherMessage(text, from, day, second);
    },
    near(at: number | null) {
      nearNow = at === null ? null : wallClock(zone, at) / 1000;
    },
    flush() {
      emitWaiting();
      release(0);
    },
    counts,
    state: () => ({ day: dates.day, second: dates.second, daemons: [...daemons] }),
    firstAt: null as number | null,
    lastAt: null as number | null,
  };
  return reader;
}

export const debugLog: DebugLog = {
  title: "FlexNet debug log",
  createReader: createDebugLogReader,
  createFirstDay,
};
