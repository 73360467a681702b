import { fstatSync } from "node:fs";
import type { Config } from "../config/config.ts";
import type { Environment } from "../config/environment.ts";
import { systemClock } from "../domain/clock.ts";
import { chooseLogFormat, createLogging, createTextSink, type Logging } from "../system/log.ts";

/** The log of this process, on stderr, in the form that suits who reads it there. */
export function processLogging({ level, format }: Config["log"], environment: Environment): Logging {
  const isTerminal = process.stderr.isTTY === true;
  const sink = createTextSink({
    format: chooseLogFormat(format, {
      isTerminal,
      journalStream: environment.JOURNAL_STREAM,
      stderrStream: streamOf(2),
    }),
    colour: isTerminal && (environment.NO_COLOR ?? "") === "" && environment.TERM !== "dumb",
    write: (text) => void process.stderr.write(text),
  });
  return createLogging({ level, clock: systemClock, sinks: [sink] });
}

/** As systemd writes it into $JOURNAL_STREAM; null when it cannot be told. */
function streamOf(descriptor: number): string | null {
  try {
    const { dev, ino } = fstatSync(descriptor);
    return `${dev}:${ino}`;
  } catch {
    return null;
  }
}
