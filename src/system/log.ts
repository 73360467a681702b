import { fstatSync } from "node:fs";
import { styleText } from "node:util";
import type { LogFields, LogOf } from "../domain/log.ts";
import { escapeControls, maskSecrets } from "../domain/plain-text.ts";
import { type Clock, systemClock } from "../domain/time/clock.ts";
import { LOG_LEVELS, type LogLevel, type LogSource } from "../domain/words.ts";

/** Line of licmond's own log, with secrets masked. */
export interface LogLine {
  readonly at: number;
  readonly level: LogLevel;
  readonly source: LogSource;
  readonly message: string;
  readonly fields: Readonly<Record<string, string | number | boolean | null>>;
}

/** Receives log lines in order. Must not block. */
export type LogSink = (line: LogLine) => void;

export type Logging = ReturnType<typeof createLogging>;

/**
 * Creates the logger. Log libraries keep their sinks in a process-wide registry, where two daemons (tests,
 * `demo`) would mix their logs, and treat braces in messages as templates.
 */
export function createLogging(level: LogLevel, clock: Clock, sinks: readonly LogSink[]) {
  const taken = new Set(sinks);
  const broken = new WeakSet<LogSink>();
  let lowest = LOG_LEVELS.indexOf(level);

  const write = (line: LogLine) => {
    for (const sink of [...taken]) {
      try {
        sink(line);
      } catch (error) {
        if (broken.has(sink)) continue;
        broken.add(sink);
        // Write this line to the other sinks only, because this one would fail again.
        write(lineOf("error", "system", "Log sink failed", { error: String(error) }));
      }
    }
  };

  const lineOf = (level: LogLevel, source: LogSource, message: string, fields: LogFields): LogLine => ({
    at: clock.now(),
    level,
    source,
    message: maskSecrets(message),
    fields: plainFields(fields),
  });

  return {
    logOf: ((source) => {
      const at = (level: LogLevel) => {
        const rank = LOG_LEVELS.indexOf(level);
        return (message: string, fields: LogFields = {}) => {
          // Audit lines are written at every level.
          if (rank >= lowest || source === "audit") write(lineOf(level, source, message, fields));
        };
      };
      return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
    }) satisfies LogOf,
    /** Drops lines below this level, except audit lines. */
    setLevel: (next: LogLevel) => {
      lowest = LOG_LEVELS.indexOf(next);
    },
    /** Adds a sink until the returned function is called. */
    addSink(sink: LogSink): () => void {
      taken.add(sink);
      return () => void taken.delete(sink);
    },
  };
}

function plainFields(fields: LogFields): LogLine["fields"] {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, typeof value === "string" ? maskSecrets(value) : value]],
    ),
  );
}

type LogFormat = "text" | "json" | "journal";

/** https://www.freedesktop.org/software/systemd/man/latest/sd-daemon.html: `<priority>` before a line. */
const PRIORITIES: Readonly<Record<LogLevel, number>> = { error: 3, warn: 4, info: 6, debug: 7 };
const COLOURS = { error: "red", warn: "yellow", info: "green", debug: "dim" } as const;

/** Formats a line without its end. Escapes line ends and control characters in all values. */
export function formatLine(line: LogLine, format: LogFormat, colour: boolean): string {
  const { at, level, source, message, fields } = line;
  const timestamp = new Date(at).toISOString();
  const names = Object.keys(fields);
  if (format === "json") {
    const metadata = names.length > 0 && { metadata: fields };
    return JSON.stringify({ timestamp, level, source, message, ...metadata });
  }
  const words = Object.entries(fields).map(([name, value]) => `${escapeControls(name)}=${shown(value)}`);
  const said = escapeControls(message);
  // journald records the time.
  if (format === "journal") return [`<${PRIORITIES[level]}>${source}: ${said}`, ...words].join(" ");
  const paint = (how: (typeof COLOURS)[LogLevel], text: string) =>
    colour ? styleText(how, text, { validateStream: false }) : text;
  const name = paint(COLOURS[level], level.toUpperCase().padEnd(5));
  const parts = [paint("dim", timestamp), name, paint("dim", source.padEnd(9)), said];
  return (words.length === 0 ? parts : [...parts, paint("dim", words.join(" "))]).join(" ");
}

/** Quotes values with blanks or quotes, so that a line can be parsed. */
function shown(value: string | number | boolean | null): string {
  if (typeof value !== "string") return String(value);
  return /^[^\s"=]+$/.test(value) && escapeControls(value) === value
    ? value
    : escapeControls(JSON.stringify(value));
}

/**
 * Resolves `format = "auto"`: `journal` if stderr goes to journald, else `text`. Both streams are
 * `<device>:<inode>`.
 */
export function chooseLogFormat(
  wanted: "auto" | "text" | "json",
  isTerminal: boolean,
  journalStream: string | undefined,
  stderrStream: string | null,
): LogFormat {
  if (wanted !== "auto") return wanted;
  return !isTerminal && journalStream !== undefined && journalStream === stderrStream ? "journal" : "text";
}

/** Creates the log of this process, on stderr. */
export function processLogging(
  { level, format }: { readonly level: LogLevel; readonly format: "auto" | "text" | "json" },
  { JOURNAL_STREAM, NO_COLOR = "", TERM }: Readonly<Record<string, string | undefined>>,
): Logging {
  const isTerminal = process.stderr.isTTY === true;
  const chosen = chooseLogFormat(format, isTerminal, JOURNAL_STREAM, streamOf(2));
  const colour = isTerminal && NO_COLOR === "" && TERM !== "dumb";
  const sink: LogSink = (line) => void process.stderr.write(`${formatLine(line, chosen, colour)}\n`);
  return createLogging(level, systemClock, [sink]);
}

/** Returns `<device>:<inode>` of a descriptor, like $JOURNAL_STREAM; null if unknown. */
function streamOf(descriptor: number): string | null {
  try {
    const { dev, ino } = fstatSync(descriptor);
    return `${dev}:${ino}`;
  } catch {
    return null;
  }
}
