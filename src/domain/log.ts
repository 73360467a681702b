import type { LogSource } from "./words.ts";

/** Context of a log line. Use `server` and `feature` where they apply. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/**
 * Writes log lines of one component. Messages are constant; variable parts go into fields. Never log a
 * secret.
 */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

export type LogOf = (source: LogSource) => Log;
