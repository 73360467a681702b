/**
 * Metrics before anybody writes them down: families, and samples that are handed one by one to whoever writes them.
 * Names and units follow https://prometheus.io/docs/practices/naming/: base units, `_total` on counters alone.
 */
export interface Family {
  /** With `_total` where it is a counter. */
  readonly name: string;
  readonly type: "gauge" | "counter" | "histogram";
  /** One line, without a backslash or a quote: the two text formats escape it differently. */
  readonly help: string;
}

/** Names and values, the names in any order and none twice. An empty value is the same as no label. */
export type Labels = readonly (readonly [name: string, value: string])[];

/** What stands behind a histogram's name; nothing for gauges and counters. */
export type Suffix = "_bucket" | "_sum" | "_count";

/**
 * Takes one sample. The samples of a family may come in any order and between those of others; no two of one family
 * have the same labels. Unknown is no sample at all, never 0.
 */
export type Emit = (family: Family, labels: Labels, value: number, suffix?: Suffix) => void;

export const NO_LABELS: Labels = [];

export function gauge(name: string, help: string): Family {
  return { name, type: "gauge", help };
}

export function counter(name: string, help: string): Family {
  return { name, type: "counter", help };
}

export function histogram(name: string, help: string): Family {
  return { name, type: "histogram", help };
}

/** Emits what is known. */
export function emitKnown(
  emit: Emit,
  family: Family,
  labels: Labels,
  value: number | null | undefined,
): void {
  if (value !== null && value !== undefined) emit(family, labels, value);
}

/** Emits 1 for the word that holds and 0 for the others, each with the word in `label`. */
export function emitOneOf<Word extends string>(
  emit: Emit,
  family: Family,
  labels: Labels,
  { label, words, now }: { readonly label: string; readonly words: readonly Word[]; readonly now: Word },
): void {
  for (const word of words) emit(family, [...labels, [label, word]], word === now ? 1 : 0);
}

/** Milliseconds as seconds: Prometheus knows base units alone. */
export function seconds(ms: number): number;
export function seconds(ms: number | null): number | null;
export function seconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1000;
}
