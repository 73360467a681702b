import { writeSync } from "node:fs";
import { codeOf } from "../../domain/error-code.ts";
import { countOf, escapeControls } from "../../domain/plain-text.ts";
import { span } from "../../domain/time/clock.ts";
import { CLIENT_OPTIONS } from "../client/target.ts";
import { type Site, watchPicture } from "../client/watch-picture.ts";
import { command } from "../command.ts";
import { Failure, mayColour } from "../io.ts";
import { cutTo } from "../terminal.ts";
import { FEATURE_HEADS, featureRow } from "./features.ts";
import { connect, featuresOf, type LiveFeature, painted, RED, tableLines } from "./output.ts";
import { NARROW } from "./who.ts";

/** State of `top`. Pure, so tests need no terminal. */
export interface View {
  readonly sort: keyof typeof SORTS;
  readonly isReversed: boolean;
  readonly filter: (typeof FILTERS)[number];
  /** Text that the shown names of features or servers contain, ignoring case. */
  readonly search: string;
  readonly isTyping: boolean;
  /** Number of features that are scrolled out above the first line. */
  readonly offset: number;
}

const UNSEARCHED = { filter: "all", search: "", isTyping: false } as const;
export const FIRST_VIEW: View = { sort: "use", isReversed: false, ...UNSEARCHED, offset: 0 };

const FILTERS = ["all", "in use", "full", "not ok"] as const;

const most = (value: number | null) => (value === null ? Infinity : -value);
const least = (value: number | null) => value ?? Infinity;
/** Sort key for each order: ascending, with unknown values last. */
const SORTS = {
  use: (feature: LiveFeature) => most(feature.utilization),
  waiting: (feature: LiveFeature) => most(feature.queued),
  free: (feature: LiveFeature) => least(feature.available),
  expiry: (feature: LiveFeature) => least(feature.expiresAt === null ? null : Date.parse(feature.expiresAt)),
  name: (feature: LiveFeature) => feature.name,
};
const SORT_KEYS = new Map(Object.keys(SORTS).map((name) => [name[0], name as View["sort"]]));
const HELP = "q quit  / search  a filter  by u use w waiting f free e expiry n name  r reverse";

/**
 * Returns the features that a view shows, in the order of the view. Features of equal rank keep the order
 * of their servers.
 */
export function shownFeatures(site: Site, { sort, isReversed, filter, search }: View): LiveFeature[] {
  const part = search.toLowerCase();
  const found = featuresOf(site, ({ name, available, used, state }, server) => {
    if (filter === "full" && (available === null || available > 0)) return false;
    if (filter === "in use" && (used ?? 0) === 0) return false;
    if (filter === "not ok" && state === "ok") return false;
    return part === "" || name.toLowerCase().includes(part) || server.toLowerCase().includes(part);
  });
  // Group before sorting, because there are few distinct ranks: this is ten times faster than sorting all features.
  const groups = Map.groupBy<number | string, LiveFeature>(found, SORTS[sort]);
  const ranks = [...groups.keys()].sort((a, b) => (isReversed === a < b ? 1 : -1));
  return ranks.flatMap((rank) => groups.get(rank) ?? []);
}

/** Cursor keys (xterm, both cursor modes) and the number of lines they scroll, for a page of the given size. */
const STEPS: Readonly<Record<string, (page: number) => number>> = {
  "[A": () => -1,
  "[B": () => 1,
  "[5~": (page) => -page,
  "[6~": (page) => page,
  "[H": () => -Infinity,
  "[F": () => Infinity,
};

/**
 * Returns the view after a key, or `quit` if the key exits. `page` is the number of list lines on the
 * screen, `count` the number of features in the list.
 */
export function afterKey(view: View, key: string, page: number, count: number): View | "quit" {
  if (key === "\u0003") return "quit";
  if (view.isTyping) {
    if (key === "\r") return { ...view, isTyping: false };
    if (key === "\u001b") return { ...view, isTyping: false, search: "" };
    if (key === "\u007f") return { ...view, search: [...view.search].slice(0, -1).join("") };
    return /\p{Cc}/u.test(key) ? view : { ...view, search: view.search + key, offset: 0 };
  }
  const step = key.startsWith("\u001b") ? STEPS[key.slice(1).replace("O", "[")] : undefined;
  if (step !== undefined)
    return { ...view, offset: Math.max(0, Math.min(view.offset + step(page), count - page)) };
  const top = { ...view, offset: 0 };
  const sort = SORT_KEYS.get(key);
  if (sort !== undefined) return { ...top, sort };
  if (key === "q") return "quit";
  if (key === "r") return { ...top, isReversed: !view.isReversed };
  if (key === "/") return { ...top, isTyping: true, search: "" };
  if (key === "\u001b") return { ...top, search: "", filter: "all" };
  if (key !== "a") return view;
  return { ...top, filter: FILTERS[(FILTERS.indexOf(view.filter) + 1) % FILTERS.length] ?? "all" };
}

/** Number of screen lines around the list: two above, the column heads, and one below. */
const FRAME_LINES = 4;

interface Shown {
  readonly site: Site;
  readonly features: readonly LiveFeature[];
  /** Reason why the data is not live; null while the data is live. */
  readonly lost: string | null;
  readonly now: number;
  readonly size: { readonly columns: number; readonly rows: number };
  readonly colour: boolean;
}

export function frame(view: View, { site, features, lost, now, size, colour }: Shown): string[] {
  const { columns, rows } = size;
  const servers = [...site.values()];
  const counts = Map.groupBy(servers, ({ status }) => status);
  const states = [...counts].map(([status, { length }]) => `${length} ${status}`).join(", ");
  const ages = servers.flatMap(({ enabled, collectedAt: at }) =>
    enabled && at !== null ? [now - Date.parse(at)] : [],
  );
  const read = ages.length === 0 ? "" : `, read up to ${span(Math.max(...ages))} ago`;
  const { sort, isReversed, filter, search, isTyping } = view;
  const found = search === "" ? "" : `, named "${search}"`;
  const fitting = (line: string) => cutTo(escapeControls(line), columns);
  const live = fitting(`licmond  ${lost === null ? "live" : `NOT LIVE: ${lost}`}  servers: ${states}${read}`);
  const list = `${countOf(features.length, "feature")}: ${filter}${found}, by ${sort}${isReversed ? " reversed" : ""}`;
  const page = Math.max(1, rows - FRAME_LINES);
  const offset = Math.max(0, Math.min(view.offset, features.length - page));
  const shown = features.slice(offset, offset + page).map((feature) => featureRow(feature, now));
  const table = tableLines(FEATURE_HEADS, shown, columns, colour);
  const lines = [colour && lost !== null ? painted(live, RED) : live, fitting(list), ...table];
  while (lines.length < rows - 1) lines.push("");
  return [...lines.slice(0, rows - 1), fitting(isTyping ? `/${search}_` : HELP)];
}

/**
 * Interval between repaints. It limits the work on busy sites, and updates ages on quiet ones. Keys repaint
 * at once.
 */
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
    /** Schedules a repaint that shows all changes until then. */
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

/**
 * Sequence that selects the alternate screen, hides the cursor, and disables wrapping (xterm: ?1049, ?25,
 * ?7).
 */
const ENTER = "\u001b[?1049h\u001b[?25l\u001b[?7l";
const LEAVE = "\u001b[?7h\u001b[?25h\u001b[?1049l";

/** Matches a key: a control sequence, e.g. of a cursor key, or one character. */
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
  /** Repaints after a stopped program resumes, because the shell has used the terminal meanwhile. */
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
