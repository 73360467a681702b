import { countOf, escapeControls } from "../domain/plain-text.ts";
import { type CommandIo, EXIT_FAILURE, mayColour } from "./io.ts";

/**
 * Minimum width of a narrowed column. On a very narrow terminal, lines are longer than the terminal is
 * wide.
 */
const NARROWEST = 4;
/** Width to which the `~` column is narrowed before other columns are. */
const LEAST_WORDS = 13;
/**
 * Maximum width to which cells are padded. A wider cell shifts only the rest of its own line, unless the
 * table is narrowed.
 */
const WIDEST_ALIGNED = 100;

/**
 * Formats rows under heads, with columns as wide as their widest cell. A head with a leading `>` marks a
 * column of numbers, which is right-aligned and never cut. Control characters are always escaped. `columns`
 * is the width of the terminal. If it is given, the table is narrowed: first the gaps between columns, then
 * the column of prose, whose head starts with `~`, then the widest of the other columns.
 */
export function printTable(heads: readonly string[], rows: readonly (readonly string[])[], columns?: number) {
  const right = heads.map((head) => head.startsWith(">"));
  const titles = heads.map((head) => head.replace(/^[>~]/, ""));
  const lines = [titles, ...rows.map((row) => row.map(escapeControls))];
  const widest = (column: number) =>
    lines.reduce((most, line) => Math.max(most, Bun.stringWidth(line[column] ?? "")), 0);
  const wanted = heads.map((_, column) => widest(column));
  const fits = columns === undefined || sumOf(wanted) + 2 * (heads.length - 1) <= columns;
  const gap = fits ? "  " : " ";
  const aligned = (width: number, column: number) =>
    right[column] || columns !== undefined ? width : Math.min(width, WIDEST_ALIGNED);
  const widths = fits ? wanted.map(aligned) : widthsThatFit(wanted, heads, columns - (heads.length - 1));
  const print = (cell: string, column: number) => {
    const width = widths[column] ?? 0;
    const shown = fits ? cell : cutTo(cell, width);
    const blank = " ".repeat(Math.max(0, width - Bun.stringWidth(shown)));
    return right[column] ? blank + shown : shown + blank;
  };
  return lines.map((line) => `${line.map(print).join(gap).trimEnd()}\n`).join("");
}

const sumOf = (widths: readonly number[]) => widths.reduce((sum, width) => sum + width, 0);

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
 * Cuts printable text to a width and appends an ellipsis. Does not use Bun.sliceAnsi, whose result is one column too wide
 * for wide characters (Bun 1.4.5).
 */
export function cutTo(text: string, width: number): string {
  if (Bun.stringWidth(text) <= width) return text;
  let kept = "";
  for (const character of text) {
    // Measure both together: a combining accent alone has no width.
    if (Bun.stringWidth(kept + character) >= width) break;
    kept += character;
  }
  return `${kept}…`;
}

/** Control characters that JSON allows and some terminals act on. */
const RAW_CONTROLS = /[\u007f-\u009f]/g;

/** Formats a value as JSON that is safe to print on a terminal. */
export function printJson(value: unknown): string {
  const json = JSON.stringify(value, null, 2);
  return `${json.replace(RAW_CONTROLS, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`)}\n`;
}

const WIDTH = 30;
const PAINT_MS = 50;

export type Progress = ReturnType<typeof createProgress>;

/** Shows the progress of a long task: a bar on a terminal, otherwise a line at the start and at the end. */
export function createProgress(what: string, { err, terminal }: Pick<CommandIo, "err" | "terminal">) {
  // Start at minus infinity, so that the first call paints at once even if the process has only just started.
  let paintedAt = Number.NEGATIVE_INFINITY;
  if (!terminal.err) err(`${what} …\n`);
  // EL, "erase in line" (ECMA-48 8.3.41): removes the rest of a longer old line.
  const clear = () => terminal.err && err("\r\u001b[K");
  return {
    /** Share of the task that is done, 0–1; null = unknown. */
    at(done: number | null) {
      const now = performance.now();
      if (!terminal.err || now - paintedAt < PAINT_MS) return;
      paintedAt = now;
      if (done === null) return err(`\r${what} …`);
      const share = Math.min(1, Math.max(0, done));
      const full = Math.round(share * WIDTH);
      err(`\r${what}  ${"█".repeat(full)}${"░".repeat(WIDTH - full)} ${Math.floor(share * 100)} %`);
    },
    clear: () => void clear(),
    end(line: string) {
      clear();
      err(`${line}\n`);
    },
  };
}

export type Report = Omit<ReturnType<typeof createReport>, "end">;

export function createReport(io: CommandIo) {
  const colour = mayColour(io, "out");
  let problems = 0;
  // Names in configs and output of tools may contain control characters.
  const line = (mark: string, paint: string, what: string, message: string) =>
    io.out(`${colour ? `\x1b[${paint}m${mark}\x1b[0m` : mark}  ${escapeControls(`${what}: ${message}`)}\n`);
  return {
    fine: (what: string, message: string) => line("ok     ", "32", what, message),
    warning: (what: string, message: string) => line("warning", "33", what, message),
    /** `fix` is the suggested fix; null if the message contains it. */
    problem(what: string, message: string, fix: string | null) {
      problems += 1;
      line("PROBLEM", "31", what, message);
      if (fix !== null) io.out(`         fix: ${escapeControls(fix)}\n`);
    },
    end(fine: string) {
      io.out(problems === 0 ? fine : `${countOf(problems, "problem")}.\n`);
      if (problems > 0) io.exitCode(EXIT_FAILURE);
    },
  };
}
