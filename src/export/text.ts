import type { Family, Labels, Suffix } from "./family.ts";

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

/** What ends the whole: OpenMetrics must tell a whole answer from one that was cut. */
export function end(format: TextFormat): string {
  return format === "openmetrics" ? "# EOF\n" : "";
}

/** `name{label="value"} 1` with its line end. `braced` is {@link braces} of its labels. */
export function line({ name }: Family, braced: string, value: number, suffix: Suffix | "" = ""): string {
  return `${name}${suffix}${braced} ${number(value)}\n`;
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
  const text = value.isWellFormed() ? value : value.toWellFormed();
  if (!/[\\"\n]/.test(text)) return text;
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function number(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  if (value === Number.NEGATIVE_INFINITY) return "-Inf";
  return String(value);
}
