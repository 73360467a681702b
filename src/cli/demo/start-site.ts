import type { Config } from "../../config/config.ts";
import { codeOf, messageOf } from "../../domain/error-code.ts";
import type { SignInLink } from "../../domain/keys.ts";
import { createClient } from "../client/client.ts";
import { type CommandIo, Failure, warningsOn } from "../io.ts";
import { createProgress } from "../terminal.ts";
import { createDemoLogs, type DemoSite, makeDemoHistory } from "./demo-site.ts";

/** The simulated debug logs are written once a second. */
const WRITE_MS = 1_000;

/** A daemon of the demo: polls, stores and answers from `start` until `stop`. */
export type DemoDaemon = Record<"start" | "stop", () => Promise<unknown>>;

/** Starts the daemon of a simulated site, whose history is made. The answer stops it. */
export async function startSite(
  demo: DemoSite,
  createDaemon: (config: Config) => Promise<DemoDaemon>,
  io: CommandIo,
): Promise<() => Promise<void>> {
  const writeLogs = createDemoLogs(demo, Date.now());
  const daemon = await createDaemon(demo.config);
  // A daemon that cannot start leaves no files.
  await daemon.start();
  // Logs come after the start: it fails where another demo runs, whose log this would be.
  const stopLogs = keepWriting(writeLogs, io);
  return async () => {
    stopLogs();
    await daemon.stop();
  };
}

/** Fills a fresh directory with the history of so many days, while `goOn` says so. `where`: of which site, for people. */
export async function makeHistory(
  demo: DemoSite,
  days: number,
  goOn: () => boolean,
  io: CommandIo,
  where = "",
): Promise<void> {
  const begun = performance.now();
  const bar = createProgress(`Making ${days} days of history${where}`, io);
  const made = await makeDemoHistory(demo, days, Date.now(), warningsOn(io), (done) => {
    bar.at(done);
    return goOn();
  });
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  if (made === "made") bar.end(`Made ${days} days of history${where} in ${seconds} s`);
  else bar.end(made === "broken off" ? "Broken off" : `There is history already${where}: it stays as it is`);
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
export function choosePort(host: string, wanted: number, given: boolean): number {
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

/** A link that signs a browser in as the owner of the key. */
export async function signInLink(url: string, key: string): Promise<string> {
  const client = createClient({ where: url, url, unix: null, key });
  return `${url}/signin#code=${(await client.post<SignInLink>("/api/signin/code", {})).code}`;
}
