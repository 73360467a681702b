import type { Log, LogFields } from "../../src/domain/log.ts";

/** A log that keeps its lines. */
export interface Line {
  readonly level: string;
  readonly message: string;
  readonly fields: LogFields;
}

export function recordingLog(): Log & { readonly lines: Line[] } {
  const lines: Line[] = [];
  const at =
    (level: string) =>
    (message: string, fields: LogFields = {}) => {
      lines.push({ level, message, fields });
    };
  return { lines, debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}
