import { CLIENT_OPTIONS } from "../client/target.ts";
import { type Site, watchPicture } from "../client/watch-picture.ts";
import { command } from "../command.ts";
import { Failure, mayColour } from "../io.ts";
import { connect, type LiveFeature } from "./output.ts";
import { openScreen } from "./screen.ts";
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
