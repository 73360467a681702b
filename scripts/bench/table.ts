/** What is bounded: the ratio of ours to the baseline, or our own figure. */
export type Bound =
  | { readonly of: "ratio" | "ours"; readonly atMost: number }
  | { readonly of: "ratio" | "ours"; readonly atLeast: number };

export interface Spread {
  readonly from: number;
  readonly to: number;
}

/** One figure beside what the same machine does, in the same run, without licmond. */
export interface Row {
  readonly what: string;
  readonly ours: number;
  /** Null where only the figure itself says something. */
  readonly baseline: number | null;
  /** The least and the most of several rounds, of which the figures are the medians. */
  readonly spread?: { readonly ours: Spread; readonly baseline: Spread };
  readonly unit: string;
  /** Null for figures that are just told. */
  readonly bound: Bound | null;
}

export interface Bench {
  readonly name: string;
  /** One line for the list of benches. */
  readonly what: string;
  run(): Promise<readonly Row[]>;
}

/** Ours divided by the baseline; null without one. */
export function ratioOf(row: Row): number | null {
  return row.baseline === null ? null : row.ours / row.baseline;
}

/** Whether the row keeps its bound; a row without a bound does. */
export function holds(row: Row): boolean {
  if (row.bound === null) return true;
  const value = row.bound.of === "ratio" ? ratioOf(row) : row.ours;
  if (value === null) return false;
  return "atMost" in row.bound ? value <= row.bound.atMost : value >= row.bound.atLeast;
}

/** `what | ours | baseline | ratio | bound`, in columns. */
export function tableOf(rows: readonly Row[]): string {
  const cells = rows.map((row) => {
    const ratio = ratioOf(row);
    return [
      row.what,
      `${figure(row.ours)}${spreadText(row.spread?.ours)} ${row.unit}`,
      row.baseline === null ? "" : `${figure(row.baseline)}${spreadText(row.spread?.baseline)} ${row.unit}`,
      ratio === null ? "" : `${figure(ratio)} ×`,
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
  return spread === undefined ? "" : ` (${figure(spread.from)}–${figure(spread.to)})`;
}

function figure(value: number): string {
  if (value >= 100) return value.toFixed(0);
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
