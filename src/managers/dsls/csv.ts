/**
 * Splits a line of CSV (RFC 4180). "open": a quoted cell continues in the next line. Null: text follows a
 * closing quote.
 */
export function readCells(line: string): string[] | "open" | null {
  if (!line.includes('"')) return line.split(",");
  const cells: string[] = [];
  for (let at = 0; ; ) {
    if (line[at] !== '"') {
      const comma = line.indexOf(",", at);
      cells.push(line.slice(at, comma === -1 ? line.length : comma));
      if (comma === -1) return cells;
      at = comma + 1;
      continue;
    }
    const end = closingQuote(line, at + 1);
    if (end === -1) return "open";
    cells.push(line.slice(at + 1, end).replaceAll('""', '"'));
    if (end + 1 === line.length) return cells;
    if (line[end + 1] !== ",") return null;
    at = end + 2;
  }
}

function closingQuote(line: string, from: number): number {
  let at = line.indexOf('"', from);
  while (at !== -1 && line[at + 1] === '"') at = line.indexOf('"', at + 2);
  return at;
}

export function printCells(cells: readonly string[]): string {
  return cells.map((cell) => (/[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(",");
}
