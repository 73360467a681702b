import type { LogSource } from "./words.ts";

/** Context of a log line: strings, numbers, booleans and null; `server` and `feature` where they apply. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Writes log lines of one component. The message is constant; what varies stands in the fields. Never a secret. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** Gives each component its log. */
export type LogOf = (source: LogSource) => Log;
