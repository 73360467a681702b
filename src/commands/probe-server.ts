import { createPoller } from "../collector/poll.ts";
import { createReachability } from "../collector/reachability.ts";
import { createCommandRunner } from "../collector/run-command.ts";
import type { Environment } from "../config/environment.ts";
import { applyPoll } from "../domain/apply-poll.ts";
import { systemClock } from "../domain/clock.ts";
import type { ServerPicture } from "../domain/picture.ts";
import type { PollOutcome } from "../domain/poll.ts";
import type { MonitoredServer } from "../domain/server.ts";
import type { ManagerName } from "../domain/words.ts";
import { hostZone } from "../domain/zone.ts";
import { managerOf } from "../managers/registry.ts";

/** One poll as the daemon makes it. Ctrl-C kills the tool with us. */
export async function probe(
  server: MonitoredServer,
  environment: Environment,
): Promise<{ readonly outcome: PollOutcome; readonly picture: ServerPicture }> {
  const path = environment.PATH ?? "";
  const runner = createCommandRunner({ path, home: environment.HOME ?? "/" });
  const poller = createPoller({
    run: runner.run,
    managerOf,
    measure: createReachability(),
    path,
    clock: systemClock,
  });
  const interrupted = () => void runner.stop();
  process.on("SIGINT", interrupted).on("SIGTERM", interrupted);
  try {
    const outcome = await poller.poll(server);
    return { outcome, picture: applyPoll(null, server, outcome, null) };
  } finally {
    process.off("SIGINT", interrupted).off("SIGTERM", interrupted);
  }
}

/** A server that no config names. */
export function adHocServer(manager: ManagerName, address: string, timeoutMs: number): MonitoredServer {
  return {
    ...{ id: manager, name: address, manager, address, tool: null, timezone: hostZone() },
    ...{ intervalMs: 60_000, timeoutMs, enabled: true, labels: {}, logFile: null },
  };
}
