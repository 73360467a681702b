/**
 * Metrics before they are written: families, and samples that are handed to their writer one by one.
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

/** The suffix of a histogram's name; nothing for gauges and counters. */
type Suffix = "_bucket" | "_sum" | "_count";

/**
 * Takes one sample. The samples of a family may come in any order and between those of others; no two of one family
 * have the same labels. Unknown is no sample at all, never 0.
 */
export type Emit = (family: Family, labels: Labels, value: number, suffix?: Suffix) => void;

export const NO_LABELS: Labels = [];

export function labelsOf(labels: Readonly<Record<string, string>>): Labels {
  return Object.entries(labels);
}

const familyOf =
  (type: Family["type"]) =>
  (name: string, help: string): Family => ({ name, type, help });
export const gauge = familyOf("gauge");
export const counter = familyOf("counter");
export const histogram = familyOf("histogram");

/** Emits what is known. */
export function emitKnown(emit: Emit, family: Family, labels: Labels, value?: number | null): void {
  if (value !== null && value !== undefined) emit(family, labels, value);
}

/** Emits 1 for the word that holds and 0 for the others, each with the word in `label`. */
export function emitOneOf<Word extends string>(
  emit: Emit,
  family: Family,
  labels: Labels,
  label: string,
  words: readonly Word[],
  now: Word,
): void {
  for (const word of words) emit(family, [...labels, [label, word]], word === now ? 1 : 0);
}

/** Milliseconds as seconds: Prometheus knows base units alone. */
export function seconds<Ms extends number | null>(ms: Ms): Ms {
  return (ms === null ? null : ms / 1000) as Ms;
}

/** The text formats that scrapers ask for. Their samples are the same, their heads differ. */
export type TextFormat = "text" | "openmetrics";

export const CONTENT_TYPES: Readonly<Record<TextFormat, string>> = {
  text: "text/plain; version=0.0.4; charset=utf-8",
  openmetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

/**
 * The lines before a family's samples. Formats: https://prometheus.io/docs/instrumenting/exposition_formats/ (0.0.4) and
 * https://prometheus.io/docs/specs/om/open_metrics_spec/ (1.0), in which a counter's family has no `_total`.
 */
export function head({ name, type, help }: Family, format: TextFormat): string {
  const family = format === "openmetrics" && type === "counter" ? name.replace(/_total$/, "") : name;
  return `# HELP ${family} ${help}\n# TYPE ${family} ${type}\n`;
}

/** `name{label="value"} 1` with its line end. `braced` is {@link braces} of its labels. */
export function line({ name }: Family, braced: string, value: number, suffix: Suffix | "" = ""): string {
  const text = Number.isFinite(value) ? String(value) : value > 0 ? "+Inf" : value < 0 ? "-Inf" : "NaN";
  return `${name}${suffix}${braced} ${text}\n`;
}

/** Labels in braces; nothing when there are none. Empty values are left out: they mean the same. */
export function braces(labels: Labels): string {
  let text = "";
  for (const [name, value] of labels) {
    if (value === "") continue;
    text += `${text === "" ? "{" : ","}${name}="${escaped(value)}"`;
  }
  return text === "" ? "" : `${text}}`;
}

/** A label's value may be any UTF-8; these three alone are escaped. Half a surrogate pair is no UTF-8. */
function escaped(value: string): string {
  const text = value.toWellFormed();
  if (!/[\\"\n]/.test(text)) return text;
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
