import { fstatSync } from "node:fs";
import { styleText } from "node:util";
import type { LogFields, LogOf } from "../domain/log.ts";
import { escapeControls, maskSecrets } from "../domain/plain-text.ts";
import { type Clock, systemClock } from "../domain/time/clock.ts";
import { LOG_LEVELS, type LogLevel, type LogSource } from "../domain/words.ts";

/** One line of licmond's own log, secrets masked. */
export interface LogLine {
  /** Epoch ms. */
  readonly at: number;
  readonly level: LogLevel;
  readonly source: LogSource;
  readonly message: string;
  readonly fields: Readonly<Record<string, string | number | boolean | null>>;
}

/** Takes lines somewhere: a terminal, the store, the streams. Called in the order of the lines; must not block. */
export type LogSink = (line: LogLine) => void;

export type Logging = ReturnType<typeof createLogging>;

/**
 * The one logger. Not a library: those tried keep their sinks in a registry of the whole process, where two daemons
 * (tests, `demo`) would write into each other, and read braces in a message as a template.
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
        // The others get this line once: a sink that fails would fail with it too.
        write(lineOf("error", "system", "A log sink fails", { error: String(error) }));
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
          // The audit trail does not depend on how much else is wanted.
          if (rank >= lowest || source === "audit") write(lineOf(level, source, message, fields));
        };
      };
      return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
    }) satisfies LogOf,
    /** Lines below this level go nowhere, but for those of source `audit`. */
    setLevel: (next: LogLevel) => {
      lowest = LOG_LEVELS.indexOf(next);
    },
    /** Gives further lines to this sink too, until the answer is called. */
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

/** How lines are written: for people, for programs, for journald. */
type LogFormat = "text" | "json" | "journal";

/** https://www.freedesktop.org/software/systemd/man/latest/sd-daemon.html: `<priority>` before a line. */
const PRIORITIES: Readonly<Record<LogLevel, number>> = { error: 3, warn: 4, info: 6, debug: 7 };
const COLOURS = { error: "red", warn: "yellow", info: "green", debug: "dim" } as const;

/** One line, without its end. No value of it can bring a second one, or move a cursor. */
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
  // journald notes the time itself.
  if (format === "journal") return [`<${PRIORITIES[level]}>${source}: ${said}`, ...words].join(" ");
  const paint = (how: (typeof COLOURS)[LogLevel], text: string) =>
    colour ? styleText(how, text, { validateStream: false }) : text;
  const name = paint(COLOURS[level], level.toUpperCase().padEnd(5));
  const parts = [paint("dim", timestamp), name, paint("dim", source.padEnd(9)), said];
  return (words.length === 0 ? parts : [...parts, paint("dim", words.join(" "))]).join(" ");
}

/** Values with blanks or quotes stand in quotes, so that a line can be taken apart again. */
function shown(value: string | number | boolean | null): string {
  if (typeof value !== "string") return String(value);
  return /^[^\s"=]+$/.test(value) && escapeControls(value) === value
    ? value
    : escapeControls(JSON.stringify(value));
}

/**
 * What `format = "auto"` means here: the journal's when stderr is what journald reads, else text. The streams are
 * `<device>:<inode>`: what $JOURNAL_STREAM says, and stderr's, null when it cannot be found out.
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

/** The log of this process, on stderr, in the form that suits its reader there. */
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

/** As systemd writes it into $JOURNAL_STREAM; null when it cannot be found out. */
function streamOf(descriptor: number): string | null {
  try {
    const { dev, ino } = fstatSync(descriptor);
    return `${dev}:${ino}`;
  } catch {
    return null;
  }
}
