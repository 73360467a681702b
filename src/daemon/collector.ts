import { createCollector } from "../collector/collector.ts";
import { createExecutor } from "../collector/execute/executor.ts";
import { createParseApart } from "../collector/parse-apart.ts";
import { createPoller } from "../collector/poll.ts";
import { createReachability } from "../collector/reachability.ts";
import { type CommandRunner, createCommandRunner } from "../collector/run-command.ts";
import { findTool } from "../collector/tool.ts";
import type { Config } from "../config/config.ts";
import type { Environment } from "../config/environment.ts";
import type { LogOf } from "../domain/log.ts";
import type { PollOutcome } from "../domain/poll.ts";
import { type Clock, systemTimers } from "../domain/time/clock.ts";
import type { ManagerName } from "../domain/words.ts";
import type { Live } from "../live/live.ts";
import { managerOf } from "../managers/registry.ts";
import type { Store } from "../store/open/open.ts";
import { createKnownHostsStore } from "../store/servers.ts";

/**
 * Runs vendor tools with the daemon's $PATH and $HOME and no other environment variables. If the daemon
 * exits at once, after a second signal or a shutdown timeout, running tools are killed.
 */
export function createToolRunner({ PATH = "", HOME = "/" }: Environment) {
  const runner = createCommandRunner({ path: PATH, home: HOME });
  process.on("exit", runner.killNow);
  return {
    run: runner.run,
    async stop() {
      await runner.stop();
      process.off("exit", runner.killNow);
    },
  };
}

export interface PollingDeps {
  readonly config: () => Config;
  readonly environment: Environment;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: LogOf;
  readonly run: CommandRunner["run"];
  readonly live: Pick<Live, "record" | "snapshot">;
  readonly polled: (outcome: PollOutcome) => void;
  readonly unaskedMs: () => number;
}

/**
 * Time after a request during which polls leave most of the event loop to clients, which often send the
 * next request at once.
 */
const ASKED_LATELY_MS = 100;

export function createPolling(deps: PollingDeps) {
  const { config, store, live, clock, log, run } = deps;
  const path = deps.environment.PATH ?? "";
  const known = (name: ManagerName) => managerOf(name, config().managers);
  const parsing = createParseApart();
  const poller = createPoller({
    run,
    parseApart: parsing,
    managerOf: known,
    path,
    clock,
    measure: createReachability(),
    hosts: createKnownHostsStore(store, log("store")),
    requestsWant: () => deps.unaskedMs() < ASKED_LATELY_MS,
    log: log("collector"),
  });
  const before = new Map(
    live.snapshot().servers.map((picture) => [picture.server.id, picture.pollDurationMs]),
  );
  const collector = createCollector({
    servers: config().servers,
    concurrency: config().collector.concurrency,
    clock,
    timers: systemTimers,
    random: Math.random,
    poll: poller.poll,
    record(outcome, nextPollAt) {
      deps.polled(outcome);
      return live.record(outcome, nextPollAt);
    },
    forget: poller.forget,
    hungBefore: ({ id, timeoutMs }) => (before.get(id) ?? 0) >= timeoutMs,
    log: log("collector"),
  });
  const settings = () => config().execute;
  const execute = createExecutor({
    run,
    findTool: (names) => findTool(names, path),
    settings,
    managers: () => config().servers.map(({ manager }) => known(manager)),
  });
  return { collector, execute, parsing };
}
