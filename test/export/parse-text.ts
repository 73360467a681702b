export interface ParsedSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface ParsedFamily {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: readonly ParsedSample[];
}

const LABEL = /([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/y;

/**
 * Parses both text formats strictly: each family must come once and in one piece, with its head first. Throws on other
 * lines.
 */
export function parseText(text: string): ReadonlyMap<string, ParsedFamily> {
  if (!text.endsWith("\n")) throw new Error("the last line does not end");
  const families = new Map<string, ParsedFamily & { samples: ParsedSample[] }>();
  const series = new Set<string>();
  const lines = text.slice(0, -1).split("\n");
  let current: (ParsedFamily & { samples: ParsedSample[] }) | null = null;
  for (const [index, line] of lines.entries()) {
    if (line === "# EOF" && index === lines.length - 1) break;
    const help = /^# HELP ([A-Za-z_:][\w:]*) (.+)$/.exec(line);
    if (help !== null) {
      const [, name = "", words = ""] = help;
      const type = new RegExp(`^# TYPE ${name} (gauge|counter|histogram)$`).exec(lines[index + 1] ?? "")?.[1];
      if (type === undefined) throw new Error(`no type after: ${line}`);
      if (families.has(name)) throw new Error(`${name} comes twice`);
      current = { name, type, help: words, samples: [] };
      families.set(name, current);
      continue;
    }
    if (line.startsWith("# TYPE ") && lines[index - 1]?.startsWith("# HELP ")) continue;
    const found = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)$/s.exec(line);
    if (found === null || current === null) throw new Error(`line ${index + 1} is invalid: ${line}`);
    const [, name = "", inner = "", value = ""] = found;
    const rest = name.startsWith(current.name) ? name.slice(current.name.length) : null;
    const fits = rest === "" || (rest !== null && /^_(total|bucket|sum|count)$/.test(rest));
    if (!fits) throw new Error(`${name} is in the family ${current.name}`);
    const key = `${name}{${inner}}`;
    if (series.has(key)) throw new Error(`${key} comes twice`);
    series.add(key);
    current.samples.push({ name, labels: parseLabels(inner), value: numberOf(value) });
  }
  for (const { name, samples } of families.values())
    if (samples.length === 0) throw new Error(`${name} has no samples`);
  return families;
}

function parseLabels(inner: string): Record<string, string> {
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < inner.length) {
    const at = LABEL.lastIndex;
    const found = LABEL.exec(inner);
    if (found === null) throw new Error(`no label at ${at}: ${inner}`);
    const [, name = "", value = "", comma] = found;
    if (comma === "," && LABEL.lastIndex === inner.length) throw new Error(`a comma at the end: ${inner}`);
    if (name in labels) throw new Error(`${name} twice: ${inner}`);
    labels[name] = value.replace(/\\(.)/g, (_, escaped: string) => (escaped === "n" ? "\n" : escaped));
  }
  return labels;
}

function numberOf(text: string): number {
  const value = Number(text.replace(/Inf$/, "Infinity"));
  if (!/^([+-]Inf|[+-]?[\d.]+(e[+-]\d+)?)$/.test(text) || Number.isNaN(value))
    throw new Error(`no number: ${text}`);
  return value;
}

/** Returns the only sample of a family that has at least these labels, or undefined without one. */
export function sampleOf(
  families: ReadonlyMap<string, ParsedFamily>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const family = families.get(name) ?? families.get(name.replace(/(_total|_sum|_count|_bucket)$/, ""));
  const found = (family?.samples ?? []).filter(
    (sample) =>
      sample.name === name &&
      Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  );
  if (found.length > 1) throw new Error(`${found.length} samples of ${name} fit`);
  return found[0]?.value;
}
