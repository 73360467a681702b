import { loadConfig } from "../config/load.ts";
import { command } from "./command.ts";
import { EXIT_FAILURE, listenToSignals, readConfig } from "./io.ts";

const STOP_DEADLINE_MS = 9_500;

export const hub = command({
  async run({ config: named }, io) {
    const { config, file } = await readConfig(named, io);
    const { createHub } = await import("../hub/hub.ts");
    const daemon = createHub(config, {
      environment: io.env,
      build: io.build,
      configFile: file,
      loadConfig: () => loadConfig(named, io.env),
    });
    const ended = Promise.withResolvers<string>();
    const quit = listenToSignals({
      stop: ended.resolve,
      exitNow: () => process.exit(EXIT_FAILURE),
      reload: () => void daemon.reload(),
    });
    try {
      const { activeKeys } = await daemon.start();
      if (activeKeys === 0)
        daemon
          .log("auth")
          .warn(
            "No API keys yet; create one with `licmond keys create --name admin --role admin`, or for a site with `--role site --site NAME`",
          );
      const signal = await ended.promise;
      daemon.log("system").info("Signal received; shutting down", { signal });
      const deadline = setTimeout(() => process.exit(EXIT_FAILURE), STOP_DEADLINE_MS);
      await daemon.stop();
      clearTimeout(deadline);
    } finally {
      quit();
    }
  },
});
