import { printBytes } from "../domain/bytes.ts";
import { iso } from "../domain/clock.ts";
import { escapeControls } from "../domain/plain-text.ts";
import type { DatabaseReport } from "../store/backup/examine.ts";

/** What `--verify` tells of a file, a line each. */
export function printReport(report: DatabaseReport): string {
  const { path, bytes, schemaVersion, knownSchema, rows, keys, oldestAt, newestAt } = report;
  const older =
    schemaVersion < knownSchema ? ` (this licmond has ${knownSchema}: upgraded when the daemon starts)` : "";
  const lines = [
    ["file", `${escapeControls(path)}, ${printBytes(bytes)}`],
    ["integrity", "ok"],
    ["schema", `${schemaVersion}${older}`],
    ["rows", `${rows} in ${report.tables.length} tables`],
    ["API keys", `${keys} not revoked`],
    ["oldest", oldestAt === null ? "no data" : iso(oldestAt)],
    ["newest", newestAt === null ? "no data" : iso(newestAt)],
  ];
  return lines.map(([name = "", value]) => `${name.padEnd(10)} ${value}\n`).join("");
}

/** The same as JSON, times as ISO 8601. */
export function reportAsJson(report: DatabaseReport): object {
  const { tables, oldestAt, newestAt, ...rest } = report;
  return {
    ...rest,
    tables: Object.fromEntries(tables.map(({ name, rows }) => [name, rows])),
    integrity: "ok",
    oldest: oldestAt === null ? null : iso(oldestAt),
    newest: newestAt === null ? null : iso(newestAt),
  };
}
