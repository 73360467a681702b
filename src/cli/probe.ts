import { createParseApart } from "../collector/parse-apart.ts";
import { createPoller } from "../collector/poll.ts";
import { createReachability } from "../collector/reachability.ts";
import { createCommandRunner } from "../collector/run-command.ts";
import type { Config } from "../config/config.ts";
import type { Environment } from "../config/environment.ts";
import { applyPoll } from "../domain/polls/apply-poll.ts";
import type { MonitoredServer } from "../domain/server.ts";
import { systemClock } from "../domain/time/clock.ts";
import { hostZone } from "../domain/time/zone.ts";
import { decodeOutput } from "../managers/read-output.ts";
import { MANAGERS, managerNames, managerOf } from "../managers/registry.ts";
import { command, flag, text } from "./command.ts";
import { failPoll, readConfig, serverNamed, toolWords, UsageError, unknownManager } from "./io.ts";
import { printPicture, printRecords, serverOf } from "./parse.ts";

export const probe = command({
  args: [
    ["<server>", `id of a configured server, or a manager: ${MANAGERS.join(", ")}, or one from the config`],
    ["[address]", "address, with a manager, e.g. 27000@lic1"],
  ],
  options: {
    json: flag("print the API's records"),
    raw: flag("print the tool's output"),
    tool: text("<file>", "the tool to run instead of the configured one"),
  },
  async run({ args: [named = "", address], options, config: file }, io) {
    if (options.raw && options.json)
      throw new UsageError("option '--raw' cannot be used with option '--json'");
    const { config } = await readConfig(file, io);
    const asked = askedServer(named, address, config);
    const server = options.tool === undefined ? asked : { ...asked, tool: [options.tool] };
    const prober = createProber(io.env, config.managers);
    const outcome = await prober.poll(server).finally(prober.end);
    if (options.raw) {
      io.out(toolWords(io, "out", decodeOutput(outcome.raw.stdout)));
      io.err(toolWords(io, "err", decodeOutput(outcome.raw.stderr)));
    } else {
      const picture = applyPoll(null, server, outcome, null);
      io.out(options.json ? printRecords(picture) : printPicture(picture, io.terminal.columns));
      for (const { line, text } of picture.unparsed)
        io.err(`unrecognized line ${line}: ${toolWords(io, "err", text)}\n`);
    }
    if (outcome.error !== null) failPoll(io, outcome.error);
  },
});

/**
 * Returns the configured server of that name. If an address is given, `named` is a manager, and the server
 * is not in the config.
 */
function askedServer(named: string, address: string | undefined, config: Config): MonitoredServer {
  if (address === undefined) return serverNamed(config, named, "; or pass a manager and an address");
  const names = managerNames(config.managers);
  const manager = names.find((each) => each === named);
  if (manager === undefined) throw unknownManager(named, names);
  const server = serverOf(manager, manager, address, hostZone());
  return { ...server, name: address, timeoutMs: config.collector.timeoutMs };
}

/** Creates a poller that works like the daemon, until `end` is called. Ctrl-C also kills the tools. */
export function createProber(environment: Environment, own: Config["managers"]) {
  const path = environment.PATH ?? "";
  const runner = createCommandRunner({ path, home: environment.HOME ?? "/" });
  const measure = createReachability();
  const parseApart = createParseApart();
  const { poll } = createPoller({
    run: runner.run,
    managerOf: (name) => managerOf(name, own),
    parseApart,
    measure,
    path,
    clock: systemClock,
  });
  const interrupted = () => void runner.stop();
  process.on("SIGINT", interrupted).on("SIGTERM", interrupted);
  const end = () => {
    parseApart.stop();
    process.off("SIGINT", interrupted).off("SIGTERM", interrupted);
  };
  return { poll, end };
}
