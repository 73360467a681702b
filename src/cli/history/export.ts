import { constants } from "node:fs";
import { open, rename, stat, unlink } from "node:fs/promises";
import { countOf } from "../../domain/plain-text.ts";
import { DAY_MS } from "../../domain/time/clock.ts";
import { createExport, EXPORT_TABLES, type ExportQuery } from "../../history/sessions/export-rows.ts";
import { columnsOf, csvHeading, csvRows } from "../../http/answers/list.ts";
import { parseTime, TIME_FORM } from "../../http/query-time.ts";
import { withDatabase } from "../../store/database/read-only.ts";
import { StoreError } from "../../store/database/store-error.ts";
import { command, flag, optionOr, text, texts } from "../command.ts";
import { type CommandIo, Failure, readConfig, UsageError } from "../io.ts";
import { createProgress } from "../terminal.ts";

const FORMATS = ["csv", "json"] as const;

export const exportTable = command({
  args: [["<table>", EXPORT_TABLES.join(", ")]],
  options: {
    format: optionOr("<format>", "format of the rows", FORMATS, "csv"),
    start: text("<time>", "only from this time, ISO 8601 or epoch ms"),
    end: text("<time>", "only before this time; a date includes the whole day"),
    server: texts("<id>", "only this server; repeatable"),
    daemon: texts("<name>", "only this daemon; repeatable"),
    feature: texts("<name>", "only this feature; repeatable"),
    bom: flag("start CSV with a byte-order mark, which Excel needs for UTF-8"),
    output: { ...text("<file>", "write to a file (default: stdout)"), short: "o" },
  },
  async run({ args: [table], options, config }, io) {
    const { format, bom, output: path, start, end, server, daemon, feature } = options;
    const wanted = EXPORT_TABLES.find((known) => known === table);
    const expected = `Expected one of ${EXPORT_TABLES.join(", ")}.`;
    if (wanted === undefined)
      throw new UsageError(`command-argument value '${table}' is invalid for argument 'table'. ${expected}`);
    const instant = (name: string, text: string | undefined, wholeDay: boolean): number | null => {
      if (text === undefined) return null;
      const time = parseTime(text, io.now());
      if (time === null) throw new UsageError(`--${name} must be ${TIME_FORM}`);
      return time.bareDate && wholeDay ? time.at + DAY_MS : time.at;
    };
    const range = { start: instant("start", start, false), end: instant("end", end, true) };
    if (range.start !== null && range.end !== null && range.start >= range.end)
      throw new UsageError("--start must be before --end");
    if (wanted === "logs" && (feature ?? daemon) !== undefined)
      throw new UsageError("--feature and --daemon do not apply to logs");
    const { storage, servers } = (await readConfig(config, io)).config;
    const intervals = Object.fromEntries(servers.map(({ id, intervalMs }) => [id, intervalMs]));
    const filter = { servers: server ?? null, daemons: daemon ?? null, features: feature ?? null };
    const query: ExportQuery = { ...range, ...filter, now: io.now(), intervals };
    try {
      await withDatabase(storage.directory, async (sqlite) => {
        const { record, slices } = createExport(sqlite, wanted, query);
        const columns = columnsOf(record);
        const json = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).join(",\n");
        const isCsv = format === "csv";
        const output = path === undefined ? standardOutput(io) : await fileOutput(path);
        // Show no progress bar if the rows go to the same terminal.
        const bar = path !== undefined || !io.terminal.out ? createProgress(`Exporting ${wanted}`, io) : null;
        let count = 0;
        let isWhole = false;
        try {
          await output.write(isCsv ? csvHeading(columns, bom === true) : "[");
          for (const { rows, done } of slices()) {
            const joint = count === 0 ? "\n" : ",\n";
            if (rows.length > 0) await output.write(isCsv ? csvRows(rows, columns) : joint + json(rows));
            count += rows.length;
            bar?.at(done);
          }
          if (!isCsv) await output.write(count > 0 ? "\n]\n" : "]\n");
          isWhole = true;
        } finally {
          await output.end(isWhole);
        }
        bar?.end(`${countOf(count, "row")} of ${wanted}${path === undefined ? "" : ` in ${path}`}`);
      });
    } catch (error) {
      if (error instanceof StoreError || !(error instanceof Error) || !("code" in error)) throw error;
      throw new Failure(`cannot write ${path ?? "stdout"}: ${error.message}`);
    }
  },
});

/** Opens a file of mode 0600 that appears once the output is complete. A pipe or device is written directly. */
async function fileOutput(path: string) {
  const known = await stat(path).catch(() => null);
  const direct = known !== null && !known.isFile();
  const target = direct ? path : `${path}.part`;
  const flags = constants.O_WRONLY | constants.O_CREAT | (direct ? 0 : constants.O_TRUNC);
  const file = await open(target, flags, 0o600);
  return {
    /** Resolves once the piece is written, so that nothing piles up. */
    write: (text: string) => file.appendFile(text),
    async end(isWhole: boolean) {
      await file.close();
      if (!direct) await (isWhole ? rename(target, path) : unlink(target));
    },
  };
}

function standardOutput({ out, flushed }: CommandIo): Awaited<ReturnType<typeof fileOutput>> {
  const write = (text: string) => {
    out(text);
    return flushed();
  };
  return { write, end: async () => {} };
}
