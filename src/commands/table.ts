import { escapeControls } from "../domain/plain-text.ts";

/**
 * Rows under a head, in columns as wide as their widest cell. Columns whose head starts with `>` are set to the right.
 * Cells may come from tools: control characters are escaped always, because a table is for people.
 */
export function printTable(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const right = heads.map((head) => head.startsWith(">"));
  const lines = [heads.map((head) => head.replace(/^>/, "")), ...rows.map((row) => row.map(escapeControls))];
  const widths = heads.map((_, column) =>
    Math.max(...lines.map((line) => Bun.stringWidth(line[column] ?? ""))),
  );
  return lines
    .map((line) =>
      line
        .map((cell, column) => {
          const blank = " ".repeat((widths[column] ?? 0) - Bun.stringWidth(cell));
          return right[column] ? blank + cell : cell + blank;
        })
        .join("  ")
        .trimEnd(),
    )
    .join("\n")
    .concat("\n");
}
