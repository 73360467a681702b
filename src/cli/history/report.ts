import { writeFileSync } from "node:fs";
import { messageOf } from "../../domain/error-code.ts";
import { initialPicture } from "../../domain/polls/apply-poll.ts";
import { hostZone } from "../../domain/time/zone.ts";
import { createReader } from "../../history/reader.ts";
import { REPORT_QUERIES, readFigures } from "../../reports/figures.ts";
import { parsePeriod } from "../../reports/period.ts";
import { writeReport } from "../../reports/write.ts";
import { withDatabase } from "../../store/database/read-only.ts";
import { lastPictures } from "../check/alerts.ts";
import { command, flag, reader, required, text, texts } from "../command.ts";
import { Failure, readConfig, UsageError } from "../io.ts";

const period = reader(
  (text) => parsePeriod(text, hostZone()),
  "Expected a month or a week, e.g. 2026-10 or 2026-W43.",
);

export const report = command({
  options: {
    period: required("<month or week>", "2026-10, or 2026-W43", period),
    to: text("<file>", "write HTML, or text if the name ends in .txt (default: text to stdout)"),
    label: texts("<name:value>", "only servers with this label; repeatable"),
    anonymize: flag("hide user names"),
  },
  async run({ options, config: named }, io) {
    const [now, zone] = [io.now(), hostZone()];
    const { period, to, anonymize } = options;
    if (period.start >= now) throw new UsageError(`--period ${period.name} has not begun`);
    const labels = (options.label ?? []).map((label) => {
      const [, name, value] = /^([^:]+):(.*)$/s.exec(label) ?? [];
      if (name === undefined) throw new UsageError("--label must be name:value, e.g. location:muc");
      return [name, value ?? ""] as const;
    });
    const { config } = await readConfig(named, io);
    const { products, http } = config;
    const figures = await withDatabase(config.storage.directory, (sqlite) => {
      const pictures = lastPictures(config, now);
      const servers = config.servers.map((server) => {
        return { ...(pictures.get(server.id) ?? initialPicture(server)), server };
      });
      const ask = (asked: Parameters<typeof REPORT_QUERIES.report>[1]) =>
        REPORT_QUERIES.report(createReader(sqlite, { now }), asked);
      const about = { period, now, zone, servers, products, labels: Object.fromEntries(labels) };
      return readFigures(ask, { ...about, anonymize, publicUrl: http.publicUrl });
    });
    if (figures.servers.length === 0)
      throw new Failure(labels.length === 0 ? "the config has no servers" : "no server has these labels");
    const { html, text: plain } = writeReport(figures);
    if (to === undefined) return io.out(plain);
    try {
      writeFileSync(to, to.endsWith(".txt") ? plain : html, { mode: 0o600 });
    } catch (error) {
      throw new Failure(`cannot write ${to}: ${messageOf(error)}`);
    }
    io.err(`Wrote ${period.title} to ${to}\n`);
  },
});
