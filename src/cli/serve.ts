import type { Command } from "commander";
import { configOption, readConfig, withConfigOption } from "./config-option.ts";
import { type CommandIo, EXIT_FAILURE, fail } from "./io.ts";

/** A daemon that has not ended by then is ended. */
const STOP_DEADLINE_MS = 9_500;

/** `licmond serve`: the daemon, in the foreground, until a signal ends it. */
export function registerServe(program: Command, io: CommandIo): void {
  withConfigOption(program.command("serve"))
    .description(
      "Runs the daemon in the foreground: polls the license servers, stores, and answers over HTTP.",
    )
    .addHelpText(
      "after",
      `
Signals: SIGTERM and SIGINT end it in order, a second one at once; SIGHUP reads the config again.

Example:
  licmond serve --config ./licmond.toml`,
    )
    .action(async (_options: unknown, command: Command) => {
      const found = await readConfig(command, io);
      if (found !== null) await serve(found, configOption(command), io);
    });
}

async function serve(
  { config, file }: NonNullable<Awaited<ReturnType<typeof readConfig>>>,
  named: string | undefined,
  io: CommandIo,
): Promise<void> {
  const { createDaemon } = await import("../daemon.ts");
  const { loadConfig } = await import("../config/find.ts");
  const { listenToSignals } = await import("../system/signals.ts");
  const { StoreError } = await import("../store/store-error.ts");
  const daemon = createDaemon(config, {
    environment: io.env,
    build: io.build,
    configFile: file,
    loadConfig: () => loadConfig(named, io.env),
  });
  const ended = Promise.withResolvers<string>();
  const started = Promise.withResolvers<void>();
  const quit = listenToSignals({
    stop: ended.resolve,
    exitNow: () => process.exit(EXIT_FAILURE),
    // While it starts there is nothing yet that another config could be given to.
    reload: () => void started.promise.then(() => daemon.reload()),
  });
  try {
    const { host, port, activeKeys } = await daemon.start();
    started.resolve();
    const { startHints } = await import("./start-hints.ts");
    startHints(daemon.log, { config, file, host, port, activeKeys, environment: io.env });
    const signal = await ended.promise;
    daemon.log("system").info("A signal asks licmond to end", { signal });
    const deadline = setTimeout(() => {
      daemon.log("system").error("licmond did not end in time and is ended");
      process.exit(EXIT_FAILURE);
    }, STOP_DEADLINE_MS);
    await daemon.stop();
    clearTimeout(deadline);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    fail(io, error instanceof StoreError ? `${message}. ${error.fix}` : message);
  } finally {
    quit();
  }
}
