import type { Log, LogFields } from "../../src/domain/log.ts";

export function recordingLog() {
  const lines: { readonly level: string; readonly message: string; readonly fields: LogFields }[] = [];
  const at =
    (level: string) =>
    (message: string, fields: LogFields = {}) =>
      void lines.push({ level, message, fields });
  const log: Log = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  return { ...log, lines };
}
