import { type Command, InvalidArgumentError } from "commander";
import type { Config } from "../config/config.ts";
import { parseDuration } from "../domain/duration.ts";
import { listenToSignals } from "../system/signals.ts";
import { withConfigOption } from "./config-option.ts";
import type { DemoOptions } from "./demo-config.ts";
import { type CommandIo, EXIT_FAILURE } from "./io.ts";
import {
  DEFAULT_PORT,
  type DemoDaemon,
  type DemoDeps,
  type DemoEnd,
  type LogWriting,
  runDemo,
} from "./run-demo.ts";

const DEFAULT_SEED = 1;
const DEFAULT_DAYS = 30;
const MAX_DAYS = 365;

/**
 * `licmond demo`: the whole daemon on built-in simulated license servers, with an admin key of its own.
 * Tests give it another daemon and another end.
 */
export function registerDemo(
  program: Command,
  { out, err, terminal }: Pick<CommandIo, "out" | "err" | "terminal">,
  given: Partial<DemoDeps> = {},
): void {
  const deps: DemoDeps = {
    createDaemon: realDaemon,
    makeHistory: (config, options, goOn) => realHistory(config, options, goOn, { err, terminal }),
    writeLogs: (config, options) => realLogs(config, options, err),
    listenForEnd: listenForSignal,
    ...{ out, err },
    ...given,
  };
  withConfigOption(program.command("demo"))
    .summary("Runs the whole daemon on simulated license servers.")
    .description(
      "Runs the whole daemon on built-in simulated license servers, with a month of history. Prints its address and an admin key; Ctrl-C ends it.",
    )
    .option("--port <port>", `port to listen on (default ${DEFAULT_PORT}, or a free one)`, integer(0, 65_535))
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option(
      "--directory <directory>",
      "keep the data here (default: a temporary directory, removed at the end)",
    )
    .option("--seed <number>", "another seed is another site", integer(0, 999_999_999), DEFAULT_SEED)
    .option("--interval <duration>", "time between two polls of a server", interval, "10s")
    .option(
      "--history <days>",
      "days of history that a fresh directory begins with",
      integer(0, MAX_DAYS),
      DEFAULT_DAYS,
    )
    .addHelpText("after", "\nExample:\n  licmond demo --port 9000 --interval 5s")
    .action(async (options: DemoOptions) => {
      try {
        await runDemo(options, deps);
      } catch (error) {
        const { StoreError } = await import("../store/store-error.ts");
        throw error instanceof StoreError
          ? new Error(`${error.message}. ${error.fix}`, { cause: error })
          : error;
      }
    });
}

async function realHistory(
  config: Config,
  { history: days, seed }: DemoOptions,
  goOn: () => boolean,
  io: Pick<CommandIo, "err" | "terminal">,
): Promise<void> {
  if (days === 0) return;
  const { makeDemoHistory } = await import("./demo-history.ts");
  const { createProgress } = await import("./progress.ts");
  const begun = performance.now();
  const progress = createProgress(`Making ${days} days of history`, io);
  const tell = (message: string) => io.err(`${message}\n`);
  const made = await makeDemoHistory({
    ...{ config, seed, days, now: Date.now() },
    log: { debug() {}, info() {}, warn: tell, error: tell },
    progress(done) {
      progress.at(done);
      return goOn();
    },
  });
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  if (made === "made") progress.end(`Made ${days} days of history in ${seconds} s`);
  else progress.end(made === "broken off" ? "Broken off" : "There is history already: it stays as it is");
}

async function realLogs(
  { servers }: Config,
  { seed }: DemoOptions,
  err: (text: string) => void,
): Promise<LogWriting> {
  const { createDemoLogs, createLogWriting } = await import("./demo-logs.ts");
  return createLogWriting(createDemoLogs(servers, seed, Date.now()), err);
}

async function realDaemon(config: Config): Promise<DemoDaemon> {
  const { createDaemon } = await import("../daemon.ts");
  return createDaemon(config);
}

/** Ctrl-C or `kill`; a second one ends the process at once. */
function listenForSignal(): DemoEnd {
  const { promise, resolve } = Promise.withResolvers<string>();
  const quit = listenToSignals({ stop: resolve, exitNow: () => process.exit(EXIT_FAILURE), reload() {} });
  return { wanted: promise, quit };
}

function integer(from: number, to: number) {
  return (text: string): number => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= from && value <= to) return value;
    throw new InvalidArgumentError(`expected an integer from ${from} to ${to}`);
  };
}

function interval(text: string): string {
  const ms = parseDuration(text);
  if (ms !== null && ms >= 5_000 && ms <= 86_400_000) return text;
  throw new InvalidArgumentError("expected a duration from 5s to 24h, e.g. 10s");
}
