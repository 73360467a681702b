import { escapeControls } from "../domain/plain-text.ts";

const GAP = "  ";
/** A column is never cut below this: the line is longer than a very narrow terminal instead. */
const NARROWEST = 4;
/** Where nothing is cut, a cell wider than this moves its own line and not every other one. */
const WIDEST_ALIGNED = 100;

/**
 * Rows under a head, in columns as wide as their widest cell. Columns whose head starts with `>` are set to the right.
 * Cells may come from tools: control characters are escaped always, because a table is for people. On a terminal of
 * `columns` characters cells are cut to fit, the widest first; without it nothing is cut.
 */
export function printTable(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  columns?: number,
): string {
  const right = heads.map((head) => head.startsWith(">"));
  const lines = [heads.map((head) => head.replace(/^>/, "")), ...rows.map((row) => row.map(escapeControls))];
  const wanted = heads.map((_, column) =>
    lines.reduce((widest, line) => Math.max(widest, Bun.stringWidth(line[column] ?? "")), 0),
  );
  const limit = columns === undefined ? WIDEST_ALIGNED : widthThatFits(wanted, columns);
  return lines
    .map((line) =>
      line
        .map((cell, column) => {
          const width = Math.min(wanted[column] ?? 0, limit);
          const shown = columns === undefined ? cell : cutTo(cell, width);
          const blank = " ".repeat(Math.max(0, width - Bun.stringWidth(shown)));
          return right[column] ? blank + shown : shown + blank;
        })
        .join(GAP)
        .trimEnd(),
    )
    .join("\n")
    .concat("\n");
}

/** The width of the widest columns with which a line fits. */
function widthThatFits(wanted: readonly number[], columns: number): number {
  const gaps = GAP.length * (wanted.length - 1);
  for (let limit = columns; limit > NARROWEST; limit--) {
    if (wanted.reduce((sum, width) => sum + Math.min(width, limit), gaps) <= columns) return limit;
  }
  return NARROWEST;
}

function cutTo(cell: string, width: number): string {
  if (Bun.stringWidth(cell) <= width) return cell;
  let kept = "";
  let taken = 0;
  for (const character of cell) {
    taken += Bun.stringWidth(character);
    if (taken >= width) break;
    kept += character;
  }
  return `${kept}…`;
}
