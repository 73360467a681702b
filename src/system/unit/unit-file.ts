/** The [Service] section of a unit with its drop-ins, in systemd's order (systemd.syntax(7)). */
export interface UnitSettings {
  /** What the last assignment says; null when there is none, or it is empty. */
  last(key: string): string | null;
  /** Everything that was assigned since the last empty assignment, in words, quotes taken off. */
  words(key: string): readonly string[];
  isOn(key: string): boolean;
}

/**
 * Reads the text of a unit and of its drop-ins, one behind the other, as `systemctl cat` prints them.
 * Never throws; lines that are none are passed over, as systemd does.
 */
export function parseUnit(text: string): UnitSettings {
  const settings = new Map<string, string[]>();
  let section = "";
  for (const line of logicalLines(text)) {
    const header = /^\[([^\]]*)\]$/.exec(line);
    if (header !== null) section = header[1] ?? "";
    const [, key, value = ""] = /^([A-Za-z0-9]+)\s*=\s*(.*)$/.exec(line) ?? [];
    if (section !== "Service" || key === undefined) continue;
    settings.set(key, value === "" ? [] : [...(settings.get(key) ?? []), value]);
  }
  const last = (key: string) => settings.get(key)?.at(-1) ?? null;
  return {
    last,
    words: (key) => (settings.get(key) ?? []).flatMap(splitWords),
    isOn: (key) => /^(1|yes|y|true|t|on)$/i.test(last(key) ?? ""),
  };
}

/** Lines without comments; one that ends in a backslash goes on in the next, comments between them left out. */
function* logicalLines(text: string): Generator<string> {
  let begun = "";
  for (const raw of text.split("\n")) {
    const line = raw.trim();
    if (line.startsWith("#") || line.startsWith(";")) continue;
    if (line.endsWith("\\")) {
      begun += `${line.slice(0, -1)} `;
      continue;
    }
    yield (begun + line).trim();
    begun = "";
  }
  yield begun.trim();
}

function splitWords(value: string): string[] {
  return [...value.matchAll(/"([^"]*)"|'([^']*)'|[^\s"']\S*/g)].map(
    ([word, double, single]) => double ?? single ?? word,
  );
}
