/**
 * A metric family; samples go to a writer one by one. Naming follows https://prometheus.io/docs/practices/naming/:
 * base units, `_total` only for counters.
 */
export interface Family {
  readonly name: string;
  readonly type: "gauge" | "counter" | "histogram";
  /** One line without backslashes or quotes, which the two text formats escape differently. */
  readonly help: string;
}

/** Labels in any order, with unique names. An empty value is the same as an absent label. */
export type Labels = readonly (readonly [name: string, value: string])[];

type Suffix = "_bucket" | "_sum" | "_count";

/** Receives one sample. Samples of families may be interleaved; labels are unique within a family. Unknown values have no sample, never 0. */
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

export function emitKnown(emit: Emit, family: Family, labels: Labels, value?: number | null): void {
  if (value !== null && value !== undefined) emit(family, labels, value);
}

/** Emits 1 for the current word and 0 for the others, with the word in `label`. */
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

export function seconds<Ms extends number | null>(ms: Ms): Ms {
  return (ms === null ? null : ms / 1000) as Ms;
}

/** Text formats of scrapers; only the heads differ. */
export type TextFormat = "text" | "openmetrics";

export const CONTENT_TYPES: Readonly<Record<TextFormat, string>> = {
  text: "text/plain; version=0.0.4; charset=utf-8",
  openmetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

/**
 * Returns the lines before a family's samples. Formats: https://prometheus.io/docs/instrumenting/exposition_formats/
 * (0.0.4) and https://prometheus.io/docs/specs/om/open_metrics_spec/ (1.0), where a counter's family has no `_total`.
 */
export function head({ name, type, help }: Family, format: TextFormat): string {
  const family = format === "openmetrics" && type === "counter" ? name.replace(/_total$/, "") : name;
  return `# HELP ${family} ${help}\n# TYPE ${family} ${type}\n`;
}

/** Returns `name{label="value"} 1` with its line end. `braced`: {@link braces} of the labels. */
export function line({ name }: Family, braced: string, value: number, suffix: Suffix | "" = ""): string {
  const text = Number.isFinite(value) ? String(value) : value > 0 ? "+Inf" : value < 0 ? "-Inf" : "NaN";
  return `${name}${suffix}${braced} ${text}\n`;
}

/** Returns labels in braces, without empty values; empty without labels. */
export function braces(labels: Labels): string {
  let text = "";
  for (const [name, value] of labels) {
    if (value === "") continue;
    text += `${text === "" ? "{" : ","}${name}="${escaped(value)}"`;
  }
  return text === "" ? "" : `${text}}`;
}

/** Escapes a label's value. Replaces half surrogate pairs, which are not valid UTF-8. */
function escaped(value: string): string {
  const text = value.toWellFormed();
  if (!/[\\"\n]/.test(text)) return text;
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
