import type { Note } from "../alerts/notify/note.ts";
import { createSender, createTargets } from "../alerts/notify/targets.ts";
import { lines, overMessage } from "../alerts/notify/text.ts";
import { createCommandRunner } from "../collector/run-command.ts";
import { alertRecord } from "../domain/alerts.ts";
import { messageOf } from "../domain/error-code.ts";
import { placeLink } from "../domain/service/page-link.ts";
import { HOUR_MS, iso, MINUTE_MS } from "../domain/time/clock.ts";
import { command, flag } from "./command.ts";
import { Failure, readConfig, UsageError } from "./io.ts";
import { createReport } from "./terminal.ts";

const TIMEOUT_MS = 30_000;

export const notify = command({
  options: { test: flag("send a test message and print it (required)") },
  async run({ options, config }, io) {
    if (!options.test) throw new UsageError("required option '--test' not specified");
    const { notifications, servers, http } = (await readConfig(config, io)).config;
    if (notifications.length === 0) throw new Failure("no targets: the config has no [[notifications]]");
    // Use the daemon's own transports.
    const { run } = createCommandRunner({ path: io.env.PATH ?? "", home: io.env.HOME ?? "/" });
    const [server = { id: "example", name: "Example tools" }] = servers;
    const notesFor = (anonymize: boolean) => sampleNotes(server, anonymize, io.now(), http.publicUrl);
    const message = { at: io.now(), test: true, dropped: 0, notes: notesFor(false) };
    io.out(`${lines(message).join("\n")}\n\n`);
    const report = createReport(io);
    for (const { name, notification, anonymize } of createTargets(notifications)) {
      try {
        const remark = await createSender(notification, { clock: { now: io.now }, run })(
          { ...message, notes: notesFor(anonymize) },
          AbortSignal.timeout(TIMEOUT_MS),
        );
        if (remark === null) report.fine(name, "sent");
        else report.problem(name, remark, null);
      } catch (error) {
        report.problem(name, messageOf(error), null);
      }
    }
    report.end("");
  },
});

/**
 * Returns sample notes, one of each kind, for `licmond notify --test`. `server` is one from the config, if
 * there are any.
 */
export function sampleNotes(
  server: { readonly id: string; readonly name: string },
  anonymize: boolean,
  at: number,
  publicUrl: string | null,
): readonly Note[] {
  const holders = [
    { user: "ada", host: "ws01", seats: 4, since: iso(at - 8 * HOUR_MS) },
    { user: "ben", host: "ws02", seats: 1, since: iso(at - 30 * HOUR_MS) },
    { user: "cy", host: "ws03", seats: 1, since: iso(at - 2 * HOUR_MS) },
  ];
  const about = { id: 1, rule: "seats", server: server.id, daemon: "vendord", feature: "example" } as const;
  const people = { acknowledgedAt: null, acknowledgedBy: null, comment: null, silencedUntil: null };
  const times = { startedAt: at - 20 * MINUTE_MS, firedAt: at - 5 * MINUTE_MS };
  const nearly = "92 % of the seats of example are in use (23 of 25)";
  const full =
    "All 25 seats of example are in use; requests for 3 seats wait; 2 requests denied since it began";
  return (["fired", "raised", "reminder", "resolved"] as const).map((kind, index) => {
    const isOver = kind === "resolved";
    const what =
      kind === "fired"
        ? ({ severity: "warning", message: nearly, value: 92, peakValue: 92, threshold: 90 } as const)
        : ({ severity: "critical", message: full, value: 100, peakValue: 100, threshold: 100 } as const);
    const record = alertRecord(
      { ...about, ...people, ...times, ...what, resolvedAt: isOver ? at : null },
      at,
    );
    const message = isOver ? overMessage(record) : record.message;
    const link = placeLink(publicUrl, about);
    const shown = { serverName: server.name, holders: isOver || anonymize ? [] : holders, link };
    return { id: index + 1, target: "test", kind, at, alert: { ...record, ...shown, message } };
  });
}
