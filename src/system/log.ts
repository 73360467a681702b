import type { Clock } from "../domain/clock.ts";
import type { Log, LogFields, LogOf } from "../domain/log.ts";
import { maskSecrets } from "../domain/plain-text.ts";
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

export interface Logging {
  readonly logOf: LogOf;
  /** Lines below this level go nowhere, but for those of source `audit`. */
  setLevel(level: LogLevel): void;
  /** Gives further lines to this sink too, until the answer is called. */
  addSink(sink: LogSink): () => void;
}

export interface LoggingDeps {
  readonly level: LogLevel;
  readonly clock: Clock;
  readonly sinks: readonly LogSink[];
}

/**
 * The one logger. Not a library: those tried keep their sinks in a registry of the whole process, where two daemons
 * (tests, `demo`) would write into each other, and read braces in a message as a template.
 */
export function createLogging({ level, clock, sinks }: LoggingDeps): Logging {
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
        // The others learn of it, once: a sink that fails would fail with this line too.
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
    logOf: (source) => {
      const at = (level: LogLevel) => {
        const rank = LOG_LEVELS.indexOf(level);
        return (message: string, fields: LogFields = {}) => {
          // The trail of who did what does not depend on how much else is wanted.
          if (rank >= lowest || source === "audit") write(lineOf(level, source, message, fields));
        };
      };
      return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") } satisfies Log;
    },
    setLevel: (next) => {
      lowest = LOG_LEVELS.indexOf(next);
    },
    addSink(sink) {
      taken.add(sink);
      return () => void taken.delete(sink);
    },
  };
}

function plainFields(fields: LogFields): LogLine["fields"] {
  const plain: Record<string, string | number | boolean | null> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) plain[name] = typeof value === "string" ? maskSecrets(value) : value;
  }
  return plain;
}
