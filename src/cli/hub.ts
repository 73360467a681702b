import { loadConfig } from "../config/load.ts";
import { command } from "./command.ts";
import { EXIT_FAILURE, listenToSignals, readConfig } from "./io.ts";

/** A hub that has not ended by then is ended. */
const STOP_DEADLINE_MS = 9_500;

/** `licmond hub`: one view over many sites, in the foreground, until a signal ends it. */
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
            "There is no API key yet: `licmond keys create --name admin --role admin` makes one, `--role site --site NAME` one for a site",
          );
      const signal = await ended.promise;
      daemon.log("system").info("A signal asks licmond to end", { signal });
      const deadline = setTimeout(() => process.exit(EXIT_FAILURE), STOP_DEADLINE_MS);
      await daemon.stop();
      clearTimeout(deadline);
    } finally {
      quit();
    }
  },
});
