import { type Command, InvalidArgumentError, Option } from "commander";
import { EXPORT_TABLES, type ExportTable } from "../store/export-tables.ts";
import { readConfig, withConfigOption } from "./config-option.ts";
import { type CommandIo, EXIT_USAGE, fail, StdoutError } from "./io.ts";

const DAY_MS = 86_400_000;
const FORMATS = ["csv", "json"] as const;

interface ExportOptions {
  readonly format: (typeof FORMATS)[number];
  readonly start?: string;
  readonly end?: string;
  readonly server?: readonly string[];
  readonly daemon?: readonly string[];
  readonly feature?: readonly string[];
  readonly bom?: true;
  readonly output?: string;
}

/** `licmond export <table>`: a whole table, as CSV or JSON, also beside a running daemon. */
export function registerExport(program: Command, io: CommandIo): void {
  const again = (value: string, before: readonly string[] = []) => [...before, value];
  withConfigOption(program.command("export"))
    .description(
      "Writes a whole table of what is stored, as CSV or JSON. Nothing is changed; a daemon may run.",
    )
    .addOption(new Option("--format <format>", "format of the rows").choices(FORMATS).default("csv"))
    .argument("<table>", EXPORT_TABLES.join(", "), table)
    .option("--start <time>", "only from this time on, ISO 8601 or epoch ms")
    .option("--end <time>", "only before this time; a bare date takes in its day")
    .option("--server <id>", "only of this server; may be repeated", again)
    .option("--daemon <name>", "only of this daemon; may be repeated", again)
    .option("--feature <name>", "only of this feature; may be repeated", again)
    .option("--bom", "begin CSV with a byte-order mark, which Excel needs to read it as UTF-8")
    .option("-o, --output <file>", "write to a file (default: stdout)")
    .addHelpText(
      "after",
      `
Sessions are those that held seats in the range. Samples are counts as they changed: a row without counts begins a gap.

Examples:
  licmond export sessions --start 2026-01-01 -o sessions.csv
  licmond export samples --server eda --feature solver --format json | jq '.[].used'`,
    )
    .action(async (wanted: ExportTable, options: ExportOptions, command: Command) => {
      const { feature, daemon, server, output } = options;
      const usage = (message: string) => command.error(`error: ${message}`, { exitCode: EXIT_USAGE });
      const { parseTime, TIME_FORM } = await import("../http/query-time.ts");
      const instant = (name: string, text: string | undefined, wholeDay: boolean): number | null => {
        if (text === undefined) return null;
        const time = parseTime(text, io.now());
        if (time !== null) return time.bareDate && wholeDay ? time.at + DAY_MS : time.at;
        return usage(`--${name} takes ${TIME_FORM}`);
      };
      const start = instant("start", options.start, false);
      const end = instant("end", options.end, true);
      if (start !== null && end !== null && start >= end) return usage("--start must lie before --end");
      if (wanted === "logs" && (feature ?? daemon) !== undefined)
        return usage("--feature and --daemon go with no log line");
      const found = await readConfig(command, io);
      if (found === null) return;
      const { runExport } = await import("./run-export.ts");
      const { StoreError } = await import("../store/store-error.ts");
      try {
        await runExport(io, {
          ...{ table: wanted, format: options.format, bom: options.bom === true, output: output ?? null },
          directory: found.config.storage.directory,
          query: {
            now: io.now(),
            intervals: Object.fromEntries(found.config.servers.map(({ id, intervalMs }) => [id, intervalMs])),
            ...{ start, end },
            servers: server ?? null,
            daemons: daemon ?? null,
            features: feature ?? null,
          },
        });
      } catch (error) {
        if (error instanceof StdoutError) return;
        if (error instanceof StoreError) return fail(io, `${error.message}. ${error.fix}`);
        if (!(error instanceof Error) || !("code" in error)) throw error;
        fail(io, `${output ?? "stdout"} cannot be written: ${error.message}`);
      }
    });
}

function table(text: string): ExportTable {
  const found = EXPORT_TABLES.find((known) => known === text);
  if (found !== undefined) return found;
  throw new InvalidArgumentError(`It takes one of ${EXPORT_TABLES.join(", ")}.`);
}
