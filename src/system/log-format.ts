import { escapeControls } from "../domain/plain-text.ts";
import type { LogLevel } from "../domain/words.ts";
import type { LogLine, LogSink } from "./log.ts";

/** How lines are written: for people, for programs, for journald. */
export type LogFormat = "text" | "json" | "journal";

/** https://www.freedesktop.org/software/systemd/man/latest/sd-daemon.html: `<priority>` in front of a line. */
const PRIORITIES: Readonly<Record<LogLevel, number>> = { error: 3, warn: 4, info: 6, debug: 7 };
const COLOURS: Readonly<Record<LogLevel, string>> = {
  error: "\x1b[31m",
  warn: "\x1b[33m",
  info: "\x1b[32m",
  debug: "\x1b[2m",
};
const DIM = "\x1b[2m";
const RESET = "\x1b[0m";

export interface LogTarget {
  readonly format: LogFormat;
  /** Only for `text`. */
  readonly colour: boolean;
  write(text: string): void;
}

/** A sink that writes one line of text for each log line. */
export function createTextSink({ format, colour, write }: LogTarget): LogSink {
  return (line) => write(`${formatLine(line, format, colour)}\n`);
}

/** One line, without its end. No value of it can bring a second one, or move a cursor. */
export function formatLine(line: LogLine, format: LogFormat, colour: boolean): string {
  const { at, level, source, message, fields } = line;
  const time = new Date(at).toISOString();
  if (format === "json")
    return JSON.stringify({
      timestamp: time,
      level,
      source,
      message,
      ...(Object.keys(fields).length > 0 && { metadata: fields }),
    });
  const words = Object.entries(fields).map(([name, value]) => `${escapeControls(name)}=${shown(value)}`);
  const said = escapeControls(message);
  // journald notes the time itself.
  if (format === "journal") return [`<${PRIORITIES[level]}>${source}: ${said}`, ...words].join(" ");
  const [dim, bright, reset] = colour ? [DIM, COLOURS[level], RESET] : ["", "", ""];
  const head = `${dim}${time}${reset} ${bright}${level.toUpperCase().padEnd(5)}${reset} ${dim}${source.padEnd(9)}${reset} ${said}`;
  return words.length === 0 ? head : `${head} ${dim}${words.join(" ")}${reset}`;
}

/** Values with blanks or quotes stand in quotes, so that a line can be taken apart again. */
function shown(value: string | number | boolean | null): string {
  if (typeof value !== "string") return String(value);
  return /^[^\s"=]+$/.test(value) && escapeControls(value) === value
    ? value
    : escapeControls(JSON.stringify(value));
}

export interface Surroundings {
  readonly isTerminal: boolean;
  /** `$JOURNAL_STREAM`: `<device>:<inode>` of the stream that journald reads. */
  readonly journalStream: string | undefined;
  /** `<device>:<inode>` of stderr; null when it cannot be told. */
  readonly stderrStream: string | null;
}

/** What `format = "auto"` means here: the journal's when stderr is what journald reads, else text. */
export function chooseLogFormat(wanted: "auto" | "text" | "json", around: Surroundings): LogFormat {
  if (wanted !== "auto") return wanted;
  const journal = around.journalStream !== undefined && around.journalStream === around.stderrStream;
  return journal && !around.isTerminal ? "journal" : "text";
}
