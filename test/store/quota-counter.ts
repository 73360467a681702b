/**
 * Counts requests of the key `k` as the daemon does, written every second. Says `taken <n>` behind each count and
 * `written <n>` behind each write. Argument: directory.
 */

import { openStore } from "../../src/store/open/open.ts";
import { createQuotas } from "../../src/store/quotas.ts";
import { recordingLog } from "./recording-log.ts";

const [directory = ""] = process.argv.slice(2);
const clock = { now: () => Date.now() };
const quotas = createQuotas({
  store: openStore({ directory, log: recordingLog(), lockWaitMs: 5_000 }),
  clock,
});
setInterval(() => {
  quotas.flush();
  process.stdout.write(`written ${quotas.used("k").month}\n`);
}, 1000);
setInterval(() => {
  quotas.take("k", { daily: null, monthly: null });
  process.stdout.write(`taken ${quotas.used("k").month}\n`);
}, 2);
