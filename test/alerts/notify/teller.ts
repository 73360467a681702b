/**
 * Stores notes for a webhook, prints each id after its commit, and sends them. Arguments: directory, URL,
 * count.
 */
import { createDispatcher } from "../../../src/alerts/notify/dispatcher.ts";
import { createSender, createTargets } from "../../../src/alerts/notify/targets.ts";
import { systemClock, systemTimers } from "../../../src/domain/time/clock.ts";

import { createNotifications } from "../../../src/store/notifications.ts";
import { openStore } from "../../../src/store/open/open.ts";
import { recordingLog } from "../../store/recording-log.ts";
import { note, webhookTo } from "./notes.ts";

const [directory = "", url = "", count = "0"] = process.argv.slice(2);
const store = openStore({ directory, log: recordingLog(), lockWaitMs: 5_000 });
const targets = createTargets([webhookTo(url)]);
const dispatcher = createDispatcher({
  queue: createNotifications(store, systemClock.now()),
  senderOf: ({ notification }) =>
    createSender(notification, { clock: systemClock, run: () => Promise.reject(new Error("no command")) }),

  clock: systemClock,
  timers: systemTimers,
  log: recordingLog(),
});
dispatcher.configure(targets);
for (let n = 0; n < Number(count); n++) {
  // The note is so old that its group is complete.
  const one = note(dispatcher.nextId(), { target: targets[0]?.id ?? "", at: systemClock.now() - 60_000 });
  store.state.write(() => dispatcher.write([one]));
  process.stdout.write(`${one.id}\n`);
  dispatcher.send([one]);
  await Bun.sleep(1);
}
setInterval(() => {}, 1000);
