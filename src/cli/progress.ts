import type { CommandIo } from "./io.ts";

const WIDTH = 30;
/** A terminal is not painted more often than this. */
const PAINT_MS = 50;

/** Tells how far a long work is: a bar that moves on a terminal, else a line at the begin and one at the end. */
export interface Progress {
  /** 0–1. */
  at(done: number): void;
  /** Takes the bar away and leaves one line. */
  end(line: string): void;
}

export function createProgress(
  what: string,
  { err, terminal }: Pick<CommandIo, "err"> & { readonly terminal: { readonly err: boolean } },
): Progress {
  // The first is painted at once, also by a process that is younger than that.
  let paintedAt = Number.NEGATIVE_INFINITY;
  if (!terminal.err) err(`${what} …\n`);
  return {
    at(done) {
      const now = performance.now();
      if (!terminal.err || now - paintedAt < PAINT_MS) return;
      paintedAt = now;
      const share = Math.min(1, Math.max(0, done));
      const full = Math.round(share * WIDTH);
      err(`\r${what}  ${"█".repeat(full)}${"░".repeat(WIDTH - full)} ${Math.floor(share * 100)} %`);
    },
    // EL, "erase in line" (ECMA-48 8.3.41): what stood there may be longer.
    end: (line) => err(terminal.err ? `\r\u001b[K${line}\n` : `${line}\n`),
  };
}
