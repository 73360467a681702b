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

export interface Prober {
  /** One poll as the daemon makes it. */
  poll(server: MonitoredServer): Promise<PollOutcome>;
  /** To be called when all polls are over. */
  end(): void;
}

/** Polls without a daemon. Ctrl-C kills the tools with us. */
export function createProber(environment: Environment): Prober {
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
  return {
    poll: (server) => poller.poll(server),
    end: () => void process.off("SIGINT", interrupted).off("SIGTERM", interrupted),
  };
}

/** One poll of one server, and the picture that it makes. */
export async function probe(
  server: MonitoredServer,
  environment: Environment,
): Promise<{ readonly outcome: PollOutcome; readonly picture: ServerPicture }> {
  const prober = createProber(environment);
  try {
    const outcome = await prober.poll(server);
    return { outcome, picture: applyPoll(null, server, outcome, null) };
  } finally {
    prober.end();
  }
}

/** A server that no config names. */
export function adHocServer(manager: ManagerName, address: string, timeoutMs: number): MonitoredServer {
  return {
    ...{ id: manager, name: address, manager, address, tool: null, timezone: hostZone() },
    ...{ intervalMs: 60_000, timeoutMs, enabled: true, labels: {}, logFile: null },
  };
}
