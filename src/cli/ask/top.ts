import { writeSync } from "node:fs";
import { codeOf } from "../../domain/error-code.ts";
import { CLIENT_OPTIONS } from "../client/target.ts";
import { type Site, watchPicture } from "../client/watch-picture.ts";
import { command } from "../command.ts";
import { Failure, mayColour } from "../io.ts";
import { connect, type LiveFeature } from "./output.ts";
import { afterKey, FIRST_VIEW, FRAME_LINES, frame, shownFeatures } from "./top-view.ts";
import { NARROW } from "./who.ts";

/** Repaint interval: limits repaints on busy sites and updates ages on quiet ones. Keys repaint at once. */
const PAINT_MS = 1_000;

export const top = command({
  options: { server: NARROW.server, ...CLIENT_OPTIONS },
  async run({ options }, io) {
    if (!io.terminal.out || process.stdin.isTTY !== true)
      throw new Failure("top needs a terminal; use `licmond features` to print a list");
    const client = await connect(options, io);
    const ids = options.server === undefined ? [] : [options.server];
    const end = Promise.withResolvers<number>();
    const stop = new AbortController();
    const colour = mayColour(io, "out");
    let view = FIRST_VIEW;
    let site: Site = new Map();
    let lost: string | null = "connecting";
    let features: readonly LiveFeature[] = [];
    let paintedAt = 0;
    let due: Timer | undefined;

    const screen = openScreen({
      key(key) {
        const page = Math.max(1, screen.size().rows - FRAME_LINES);
        const next = afterKey(view, key, page, features.length);
        if (next === "quit") return end.resolve(0);
        view = next;
        return paint();
      },
      resized: paint,
      ended: end.resolve,
      failed: end.reject,
    });
    function paint() {
      clearTimeout(due);
      due = undefined;
      paintedAt = performance.now();
      features = shownFeatures(site, view);
      screen.paint(frame(view, { site, features, lost, now: io.now(), size: screen.size(), colour }));
    }
    /** Schedules one repaint for all changes until then. */
    const paintSoon = () => {
      due ??= setTimeout(paint, Math.max(0, paintedAt + PAINT_MS - performance.now()));
    };
    const ticking = setInterval(paintSoon, PAINT_MS);
    try {
      const watch = async () => {
        for await (const seen of watchPicture(client, ids, stop.signal)) {
          ({ site, lost } = seen);
          paintSoon();
        }
      };
      watch().catch(end.reject);
      io.exitCode(await end.promise);
    } finally {
      clearInterval(ticking);
      clearTimeout(due);
      stop.abort();
      screen.close();
    }
  },
});

/** Alternate screen, hidden cursor, no wrapping (xterm's control sequences: ?1049, ?25, ?7). */
const ENTER = "\u001b[?1049h\u001b[?25l\u001b[?7l";
const LEAVE = "\u001b[?7h\u001b[?25h\u001b[?1049l";

/** Key: a control sequence, e.g. of a cursor key, or one character. */
const KEYS = /\u001b(?:\[[0-9;]*[A-Za-z~]|O[A-Z])|[\s\S]/gu;

interface ScreenEvents {
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
function openScreen({ key, resized, ended, failed }: ScreenEvents) {
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
