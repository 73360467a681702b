import type { DebugLogEvent } from "../../src/managers/debug-log/debug-log.ts";
import { createLineCutter } from "../../src/managers/debug-log/lines.ts";
import { debugLog } from "../../src/managers/flexnet/debug-log/reader.ts";

/** Reads a whole log as the import does. `chunk` = bytes per feed. */
export function readLog(
  input: string | Uint8Array,
  { zone = "UTC", lastWrite = Date.UTC(2026, 0, 31, 23), chunk = 1 << 16, log = debugLog } = {},
) {
  const bytes = typeof input === "string" ? new TextEncoder().encode(input) : input;
  const first = log.createFirstDay(zone);
  const look = createLineCutter();
  look.feed(bytes, first.line);
  look.finish(first.line);
  const { day, inferred } = first.result(lastWrite);
  const events: DebugLogEvent[] = [];
  const reader = log.createReader({
    zone,
    inferred,
    hold: true,
    start: { day, second: -1, daemons: [] },
    onEvent: (event) => events.push(event),
  });
  const cutter = createLineCutter();
  for (let at = 0; at < bytes.length; at += chunk) cutter.feed(bytes.slice(at, at + chunk), reader.line);
  cutter.finish(reader.line);
  reader.flush();
  return { events, reader };
}

export const times = (events: readonly DebugLogEvent[]) =>
  events.map(({ at }) => new Date(at).toISOString().slice(0, 19));
