/** A limit for the ratio to the baseline or for our own figure. */
export type Bound =
  | { readonly of: "ratio" | "ours"; readonly atMost: number }
  | { readonly of: "ratio" | "ours"; readonly atLeast: number };

export interface Spread {
  readonly from: number;
  readonly to: number;
}

/** A measured figure, and a baseline of the same machine without licmond from the same run. */
export interface Row {
  readonly what: string;
  readonly ours: number;
  /** Null without a baseline. */
  readonly baseline: number | null;
  /** Smallest and largest value of several rounds, if the figures are medians. */
  readonly spread?: { readonly ours: Spread; readonly baseline: Spread };
  readonly unit: string;
  /** Null if the figure has no limit. */
  readonly bound: Bound | null;
}

export interface Bench {
  readonly name: string;
  /** Description for the list of benches, in one line. */
  readonly what: string;
  run(): Promise<readonly Row[]>;
}

/** Makes a row without a baseline. */
export function figure(what: string, ours: number, unit: string, atMost: number | null = null): Row {
  return { what, ours, baseline: null, unit, bound: atMost === null ? null : { of: "ours", atMost } };
}

type Figures = Pick<Row, "ours" | "baseline" | "spread">;

export function compared(what: string, figures: Figures, unit: string, bound: Bound | null = null): Row {
  return { what, ...figures, unit, bound };
}

/** Returns our figure divided by the baseline, or null without a baseline. */
function ratioOf(row: Row): number | null {
  return row.baseline === null ? null : row.ours / row.baseline;
}

/** Reports whether the row is within its bound. */
export function holds(row: Row): boolean {
  if (row.bound === null) return true;
  const value = row.bound.of === "ratio" ? ratioOf(row) : row.ours;
  if (value === null) return false;
  return "atMost" in row.bound ? value <= row.bound.atMost : value >= row.bound.atLeast;
}

/** Formats rows as columns: `what | ours | baseline | ratio | bound`. */
export function tableOf(rows: readonly Row[]): string {
  const cells = rows.map((row) => {
    const ratio = ratioOf(row);
    return [
      row.what,
      `${digits(row.ours)}${spreadText(row.spread?.ours)} ${row.unit}`,
      row.baseline === null ? "" : `${digits(row.baseline)}${spreadText(row.spread?.baseline)} ${row.unit}`,
      ratio === null ? "" : `${digits(ratio)} ×`,
      boundText(row) + (holds(row) ? "" : "  MISSED"),
    ];
  });
  const lines = [["what", "ours", "baseline", "ratio", "bound"], ...cells];
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const text = lines.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join(" | ")
      .trimEnd(),
  );
  text.splice(1, 0, widths.map((width) => "-".repeat(width)).join("-|-"));
  return text.join("\n");
}

function boundText({ bound, unit }: Row): string {
  if (bound === null) return "";
  const suffix = bound.of === "ratio" ? "×" : unit;
  return "atMost" in bound ? `≤ ${bound.atMost} ${suffix}` : `≥ ${bound.atLeast} ${suffix}`;
}

function spreadText(spread: Spread | undefined): string {
  return spread === undefined ? "" : ` (${digits(spread.from)}–${digits(spread.to)})`;
}

function digits(value: number): string {
  if (value >= 100) return value.toFixed(0);
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
