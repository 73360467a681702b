import { writeSync } from "node:fs";
import { codeOf } from "../../domain/error-code.ts";

/** Alternate screen, hidden cursor, no wrapping (xterm's control sequences: ?1049, ?25, ?7). */
const ENTER = "\u001b[?1049h\u001b[?25l\u001b[?7l";
const LEAVE = "\u001b[?7h\u001b[?25h\u001b[?1049l";

/** Key: a control sequence, e.g. of a cursor key, or one character. */
const KEYS = /\u001b(?:\[[0-9;]*[A-Za-z~]|O[A-Z])|[\s\S]/gu;

export interface ScreenEvents {
  key(key: string): void;
  resized(): void;
  /** A signal asks the program to exit. */
  ended(exitCode: number): void;
  failed(error: unknown): void;
}

const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/**
 * Takes over the whole terminal until `close`, which runs on every exit except SIGKILL. Writes only lines that changed.
 */
export function openScreen({ key, resized, ended, failed }: ScreenEvents) {
  const { stdin, stdout } = process;
  let painted: readonly string[] = [];
  let isOpen = true;
  const read = (bytes: Buffer) => {
    for (const [pressed] of bytes.toString().matchAll(KEYS)) key(pressed);
  };
  const resize = () => {
    painted = [];
    resized();
  };
  /** Repaints after a stopped program resumes; the shell has used the terminal. */
  const wake = () => {
    stdin.setRawMode(false).setRawMode(true);
    stdout.write(ENTER);
    resize();
  };
  const close = () => {
    if (!isOpen) return;
    isOpen = false;
    stdin.off("data", read);
    stdout.off("resize", resize);
    process.off("SIGCONT", wake).off("exit", close).off("uncaughtException", failed);
    for (const [signal, end] of endings) process.off(signal, end);
    try {
      stdin.setRawMode(false).pause();
      // Write synchronously: an exiting process writes nothing later.
      writeSync(stdout.fd, LEAVE);
    } catch (error) {
      // EIO: the terminal is gone.
      if (codeOf(error) !== "EIO") throw error;
    }
  };
  const endings = Object.entries(SIGNALS).map(([signal, code]) => [signal, () => ended(code)] as const);

  stdin.setRawMode(true).resume().on("data", read);
  stdout.on("resize", resize).write(ENTER);
  process.on("SIGCONT", wake).on("exit", close).on("uncaughtException", failed);
  for (const [signal, end] of endings) process.on(signal, end);

  return {
    size: () => ({ columns: stdout.columns || 80, rows: stdout.rows || 24 }),
    paint(lines: readonly string[]) {
      // Skip this frame if the terminal reads too slowly.
      if (stdout.writableNeedDrain) return;
      const changed = lines.flatMap((line, at) =>
        line === painted[at] ? [] : [`\u001b[${at + 1};1H${line}\u001b[K`],
      );
      painted = [...lines];
      if (changed.length > 0) stdout.write(changed.join(""));
    },
    close,
  };
}
