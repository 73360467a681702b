import { countOf, escapeControls } from "../domain/plain-text.ts";
import { type CommandIo, EXIT_FAILURE, mayColour } from "./io.ts";

/** A column is never cut below this: the line is longer than a very narrow terminal instead. */
const NARROWEST = 4;
/** Words leave so much to names at most. */
const LEAST_WORDS = 13;
/** Where nothing is cut, a cell wider than this moves its own line and not every other one. */
const WIDEST_ALIGNED = 100;

/**
 * Rows under a head, in columns as wide as their widest cell. Columns whose head starts with `>` are set to the right and
 * never cut: they hold numbers. Cells may come from tools: control characters are escaped always, because a table is for
 * people. On a terminal of `columns` characters what does not fit is cut: the blanks between columns first, then the
 * column whose head starts with `~`, which holds words, then the widest of the others; without it nothing is.
 */
export function printTable(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  columns?: number,
): string {
  const right = heads.map((head) => head.startsWith(">"));
  const lines = [
    heads.map((head) => head.replace(/^[>~]/, "")),
    ...rows.map((row) => row.map(escapeControls)),
  ];
  const widest = (column: number) =>
    lines.reduce((most, line) => Math.max(most, Bun.stringWidth(line[column] ?? "")), 0);
  const wanted = heads.map((_, column) => widest(column));
  const fits = columns === undefined || sumOf(wanted) + 2 * (heads.length - 1) <= columns;
  const gap = fits ? "  " : " ";
  const widths = fits
    ? wanted.map((width, column) =>
        right[column] || columns !== undefined ? width : Math.min(width, WIDEST_ALIGNED),
      )
    : widthsThatFit(wanted, heads, columns - (heads.length - 1));
  const print = (cell: string, column: number) => {
    const width = widths[column] ?? 0;
    const shown = fits ? cell : cutTo(cell, width);
    const blank = " ".repeat(Math.max(0, width - Bun.stringWidth(shown)));
    return right[column] ? blank + shown : shown + blank;
  };
  return lines.map((line) => `${line.map(print).join(gap).trimEnd()}\n`).join("");
}

const sumOf = (widths: readonly number[]) => widths.reduce((sum, width) => sum + width, 0);

/** The widths with which a line without its gaps has so many columns. */
function widthsThatFit(wanted: readonly number[], heads: readonly string[], columns: number): number[] {
  const words = heads.findIndex((head) => head.startsWith("~"));
  const narrowed = (limit: number) =>
    wanted.map((width, at) => {
      if (heads[at]?.startsWith(">")) return width;
      return Math.min(width, limit, at === words ? LEAST_WORDS : width);
    });
  let limit = columns;
  while (limit > NARROWEST && sumOf(narrowed(limit)) > columns) limit--;
  const widths = narrowed(limit);
  const spare = Math.max(0, columns - sumOf(widths));
  return widths.map((width, at) => (at === words ? Math.min(wanted[at] ?? 0, width + spare) : width));
}

/**
 * Text of printable characters, cut to a width with a mark at its end. Not Bun.sliceAnsi: with wide characters its answer
 * is one column wider than asked (Bun 1.4.5).
 */
export function cutTo(text: string, width: number): string {
  if (Bun.stringWidth(text) <= width) return text;
  let kept = "";
  for (const character of text) {
    // Of both together: an accent has no width of its own.
    if (Bun.stringWidth(kept + character) >= width) break;
    kept += character;
  }
  return `${kept}…`;
}

/** Control characters that JSON lets through, and that some terminals act on. */
const RAW_CONTROLS = /[\u007f-\u009f]/g;

/** A JSON text to look at and for other programs, harmless on a terminal. */
export function printJson(value: unknown): string {
  const json = JSON.stringify(value, null, 2);
  return `${json.replace(RAW_CONTROLS, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`)}\n`;
}

const WIDTH = 30;
/** A terminal is not painted more often than this. */
const PAINT_MS = 50;

export type Progress = ReturnType<typeof createProgress>;

/** Shows how far a long task is: a bar that moves on a terminal, else a line at the beginning and one at the end. */
export function createProgress(what: string, { err, terminal }: Pick<CommandIo, "err" | "terminal">) {
  // The first is painted at once, also by a process that is younger than that.
  let paintedAt = Number.NEGATIVE_INFINITY;
  if (!terminal.err) err(`${what} …\n`);
  // EL, "erase in line" (ECMA-48 8.3.41): what stood there may be longer.
  const clear = () => terminal.err && err("\r\u001b[K");
  return {
    /** 0–1; null = not known. */
    at(done: number | null) {
      const now = performance.now();
      if (!terminal.err || now - paintedAt < PAINT_MS) return;
      paintedAt = now;
      if (done === null) return err(`\r${what} …`);
      const share = Math.min(1, Math.max(0, done));
      const full = Math.round(share * WIDTH);
      err(`\r${what}  ${"█".repeat(full)}${"░".repeat(WIDTH - full)} ${Math.floor(share * 100)} %`);
    },
    /** Takes the bar away. */
    clear: () => void clear(),
    /** Takes the bar away and leaves one line. */
    end(line: string) {
      clear();
      err(`${line}\n`);
    },
  };
}

/** Takes findings one by one. */
export type Report = Omit<ReturnType<typeof createReport>, "end">;

/** Prints each finding on stdout as it comes. */
export function createReport(io: CommandIo) {
  const colour = mayColour(io, "out");
  let problems = 0;
  // Names of the config and words of tools may hold anything.
  const line = (mark: string, paint: string, what: string, message: string) =>
    io.out(`${colour ? `\x1b[${paint}m${mark}\x1b[0m` : mark}  ${escapeControls(`${what}: ${message}`)}\n`);
  return {
    fine: (what: string, message: string) => line("ok     ", "32", what, message),
    warning: (what: string, message: string) => line("warning", "33", what, message),
    /** `fix`: what to do about it; null when the message says so. */
    problem(what: string, message: string, fix: string | null) {
      problems += 1;
      line("PROBLEM", "31", what, message);
      if (fix !== null) io.out(`         fix: ${escapeControls(fix)}\n`);
    },
    /** Says how many problems there were, which fail the command, or else `fine`. */
    end(fine: string) {
      io.out(problems === 0 ? fine : `${countOf(problems, "problem")}.\n`);
      if (problems > 0) io.exitCode(EXIT_FAILURE);
    },
  };
}
