import { sampleNotes } from "../alerts/notify/sample.ts";
import { createSender, createTargets } from "../alerts/notify/targets.ts";
import { lines } from "../alerts/notify/text.ts";
import { createCommandRunner } from "../collector/run-command.ts";
import { messageOf } from "../domain/error-code.ts";
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
