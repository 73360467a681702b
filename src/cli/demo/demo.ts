import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Config } from "../../config/config.ts";
import { codeOf, messageOf } from "../../domain/error-code.ts";
import type { SignInLink } from "../../domain/keys.ts";
import { parseDuration, parseMomentOfWeek, systemClock } from "../../domain/time/clock.ts";
import { hostZone } from "../../domain/time/zone.ts";
import { aheadFor } from "../../simulator/calendar.ts";
import { createKeys } from "../../store/keys.ts";
import { openStore } from "../../store/open/open.ts";
import { createClient } from "../client/client.ts";
import { type Command, command, integer, option, optionOr, reader, text } from "../command.ts";
import { type CommandIo, EXIT_FAILURE, Failure, listenToSignals, warningsOn } from "../io.ts";
import { reachableHost } from "../serve.ts";
import { createProgress } from "../terminal.ts";
import { createDemoLogs, type DemoSite, demoSite, makeDemoHistory } from "./demo-site.ts";

/** Where a demo listens by default, unless the port is taken. */
const DEFAULT_PORT = 8080;
const KEY_NAME = "demo";
/** The simulated debug logs are written once a second. */
const WRITE_MS = 1_000;

/** What a demo needs of the rest of the program; tests give it another daemon and another end. */
export type DemoDeps = typeof REAL;

const REAL = {
  /** The whole daemon: polls, stores and answers from `start` until `stop`. */
  createDaemon: async (config: Config): Promise<Record<"start" | "stop", () => Promise<unknown>>> =>
    (await import("../../daemon.ts")).createDaemon(config),
  makeHistory,
  signInLink,
  /** Resolves `wanted` when the demo is to end (Ctrl-C or `kill`), until `quit`; a second one ends the process at once. */
  listenForEnd() {
    const { promise: wanted, resolve: stop } = Promise.withResolvers<unknown>();
    const quit = listenToSignals({ stop, exitNow: () => process.exit(EXIT_FAILURE), reload() {} });
    return { wanted, quit };
  },
};

const within = (from: number, to: number) => integer(from, to, `expected an integer from ${from} to ${to}`);
const interval = reader((text) => {
  const ms = parseDuration(text);
  return ms !== null && ms >= 5_000 && ms <= 86_400_000 ? text : null;
}, "expected a duration from 5s to 24h, e.g. 10s");
const moment = reader(parseMomentOfWeek, 'expected a day and a time, e.g. "Tue 10:30"');

const KEEP = "keep the data here (default: a temporary directory, removed at the end)";
const BEGIN =
  'moment of the week at which the simulated people begin, e.g. "Tue 10:30" (default: a working one)';

/** `licmond demo`: the whole daemon on built-in simulated license servers, with an admin key of its own. */
export const demo = demoCommand(REAL);

/** Runs until the end is wanted. Throws an Error whose message says what to do when it cannot start. */
export function demoCommand(deps: DemoDeps): Command {
  return command({
    options: {
      port: option("<port>", `port to listen on (default ${DEFAULT_PORT}, or a free one)`, within(0, 65_535)),
      host: optionOr("<address>", "address to listen on", String, "127.0.0.1"),
      directory: text("<directory>", KEEP),
      at: option("<moment>", BEGIN, moment),
      seed: optionOr("<number>", "another seed is another site", within(0, 999_999_999), 1),
      interval: optionOr("<duration>", "time between two polls of a server", interval, "10s"),
      history: optionOr("<days>", "days of history that a fresh directory begins with", within(0, 365), 30),
    },
    async run({ options }, io) {
      const wanted = options.port ?? DEFAULT_PORT;
      const port = choosePort(options.host, wanted, options.port !== undefined);
      const temporary = options.directory === undefined;
      const directory = resolve(options.directory ?? (await mkdtemp(join(tmpdir(), "licmond-demo-"))));
      const end = deps.listenForEnd();
      try {
        const ahead = aheadFor(hostZone(), Date.now(), options.at ?? null);
        const demo = demoSite({ ...options, port, directory }, ahead);
        let isOver = false;
        void end.wanted.then(() => (isOver = true));
        if (options.history > 0) await deps.makeHistory(demo, options.history, () => !isOver, io);
        if (isOver) return;
        const writeLogs = createDemoLogs(demo, Date.now());
        const daemon = await deps.createDaemon(demo.config);
        // A daemon that cannot start leaves no files.
        await daemon.start();
        // Logs and key come after the start: it fails where another demo runs, whose log and key these would be.
        const stopLogs = keepWriting(writeLogs, io);
        try {
          const key = await makeAdminKey(directory, io);
          if (port !== wanted && wanted !== 0)
            io.out(`Port ${wanted} is taken, so this demo listens on ${port} (--port chooses one).\n`);
          const url = `http://${reachableHost(options.host)}:${port}`;
          const link = await deps.signInLink(url, key);
          io.out(welcome(demo.config, options.seed, url, link, key, temporary));
          await end.wanted;
        } finally {
          stopLogs();
          await daemon.stop();
        }
      } finally {
        end.quit();
        if (temporary) await rm(directory, { recursive: true, force: true });
      }
    },
  });
}

/** Fills a fresh directory with the history of so many days, while `goOn` says so. */
async function makeHistory(demo: DemoSite, days: number, goOn: () => boolean, io: CommandIo): Promise<void> {
  const begun = performance.now();
  const bar = createProgress(`Making ${days} days of history`, io);
  const made = await makeDemoHistory(demo, days, Date.now(), warningsOn(io), (done) => {
    bar.at(done);
    return goOn();
  });
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  if (made === "made") bar.end(`Made ${days} days of history in ${seconds} s`);
  else bar.end(made === "broken off" ? "Broken off" : "There is history already: it stays as it is");
}

/** Writes the logs until the returned function is called, or until writing fails, which it says. */
function keepWriting(writeLogs: (now: number) => void, { err }: CommandIo): () => void {
  const write = () => {
    try {
      writeLogs(Date.now());
    } catch (error) {
      clearInterval(timer);
      err(`The simulated debug logs cannot be written: ${messageOf(error)}\n`);
    }
  };
  const timer = setInterval(write, WRITE_MS);
  write();
  return () => clearInterval(timer);
}

/** The wanted port if it is free, else a free one; a port that the user has `given` must be free. */
function choosePort(host: string, wanted: number, given: boolean): number {
  try {
    return listenOnce(host, wanted);
  } catch (error) {
    const isTaken = codeOf(error) === "EADDRINUSE";
    if (isTaken && !given) return listenOnce(host, 0);
    const taken = `another program listens on ${host}:${wanted}; name another --port, or none for a free one`;
    throw new Failure(isTaken ? taken : `nothing can listen on ${host}:${wanted} (${codeOf(error)})`);
  }
}

function listenOnce(hostname: string, port: number): number {
  using probe = Bun.listen({ hostname, port, socket: { data() {} } });
  return probe.port;
}

/** A key for this run. The one of an earlier run in the same directory cannot be shown again and is revoked. */
async function makeAdminKey(directory: string, io: CommandIo): Promise<string> {
  using closing = new DisposableStack();
  const store = closing.adopt(openStore({ directory, log: warningsOn(io), mode: "cli" }), ({ close }) =>
    close(),
  );
  const keys = createKeys({ store, clock: systemClock });
  const earlier = keys.find(KEY_NAME);
  if (earlier !== null) keys.revoke(earlier.id);
  const limits = { expiresAt: null, dailyQuota: null, monthlyQuota: null, requestsPerMinute: null };
  const made = keys.create({ name: KEY_NAME, role: "admin", anonymize: false, ...limits });
  if (made.outcome === "created") return made.presented;
  throw new Error(`The key "${KEY_NAME}" could not be made in ${directory}`);
}

/** A link that signs a browser in as the owner of the key. */
async function signInLink(url: string, key: string): Promise<string> {
  const client = createClient({ where: url, url, unix: null, key });
  return `${url}/signin#code=${(await client.post<SignInLink>("/api/signin/code", {})).code}`;
}

function welcome(
  { storage, servers, collector }: Config,
  seed: number,
  url: string,
  link: string,
  key: string,
  temporary: boolean,
): string {
  const curl = (path: string) => `  curl -H 'X-API-Key: ${key}' '${url}${path}'`;
  return `
licmond demo: ${servers.length} simulated license servers (seed ${seed}), polled every ${collector.intervalMs / 1000} s

${servers.map(({ id, name, manager }) => `  ${id.padEnd(10)} ${manager.padEnd(8)} ${name}`).join("\n")}

Address    ${url}
Sign in    ${link}
           (once, within 10 minutes)
Documents  ${url}/swagger
Admin key  ${key}
Data       ${storage.directory}${temporary ? " (removed at the end)" : ""}

Try:
${curl("/api/licenses/summary")}
${curl("/api/licenses/features?sort=-utilization&limit=5")}
${curl("/api/licenses/users?kind=queued")}
${curl("/api/licenses/denials?limit=5")}

Ctrl-C ends it.
`;
}
