import type { Config } from "../../config/config.ts";
import { codeOf, messageOf } from "../../domain/error-code.ts";
import type { NewKey, SignInLink } from "../../domain/keys.ts";
import type { Role } from "../../domain/words.ts";
import { createClient } from "../client/client.ts";
import { type CommandIo, Failure, warningsOn } from "../io.ts";
import { createProgress } from "../terminal.ts";
import { createDemoLogs, type DemoSite, makeDemoHistory } from "./demo-site.ts";

const WRITE_MS = 1_000;

/** Daemon of the demo. Runs from `start` until `stop`. */
export type DemoDaemon = Record<"start" | "stop", () => Promise<unknown>>;

/** Starts the daemon of a simulated site with existing history. Returns a function that stops it. */
export async function startSite(
  demo: DemoSite,
  createDaemon: (config: Config) => Promise<DemoDaemon>,
  io: CommandIo,
): Promise<() => Promise<void>> {
  const writeLogs = createDemoLogs(demo, Date.now());
  const daemon = await createDaemon(demo.config);
  await daemon.start();
  // Write logs only after the start, which fails if another demo runs. Otherwise this would write the logs
  // of that demo.
  const stopLogs = keepWriting(writeLogs, io);
  return async () => {
    stopLogs();
    await daemon.stop();
  };
}

/**
 * Fills an empty directory with history, until `goOn` returns false. `where` is the name of the site in
 * messages.
 */
export async function makeHistory(
  demo: DemoSite,
  days: number,
  goOn: () => boolean,
  io: CommandIo,
  where = "",
): Promise<void> {
  const begun = performance.now();
  const bar = createProgress(`Creating ${days} days of history${where}`, io);
  const made = await makeDemoHistory(demo, days, Date.now(), warningsOn(io), (done) => {
    bar.at(done);
    return goOn();
  });
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  if (made === "made") bar.end(`Created ${days} days of history${where} in ${seconds} s`);
  else bar.end(made === "broken off" ? "Interrupted" : `History exists already${where}; keeping it`);
}

/** Writes the logs until the returned function is called, or until a write fails, which is reported. */
function keepWriting(writeLogs: (now: number) => void, { err }: CommandIo): () => void {
  const write = () => {
    try {
      writeLogs(Date.now());
    } catch (error) {
      clearInterval(timer);
      err(`cannot write the simulated debug logs: ${messageOf(error)}\n`);
    }
  };
  const timer = setInterval(write, WRITE_MS);
  write();
  return () => clearInterval(timer);
}

/**
 * Returns the wanted port if it is free, else any free port. Throws if the port is in use and was `given`
 * by the user.
 */
export function choosePort(host: string, wanted: number, given: boolean): number {
  try {
    return listenOnce(host, wanted);
  } catch (error) {
    const isTaken = codeOf(error) === "EADDRINUSE";
    if (isTaken && !given) return listenOnce(host, 0);
    const taken = `${host}:${wanted} is in use; choose another --port, or omit it for a free one`;
    throw new Failure(isTaken ? taken : `cannot listen on ${host}:${wanted} (${codeOf(error)})`);
  }
}

function listenOnce(hostname: string, port: number): number {
  using probe = Bun.listen({ hostname, port, socket: { data() {} } });
  return probe.port;
}

type KeyStore = {
  find(name: string): { readonly id: string } | null;
  revoke(id: string): unknown;
  create(key: NewKey): MadeKey | Promise<MadeKey>;
};
type MadeKey = { readonly outcome: string; readonly presented?: string };

/**
 * Creates a key. Revokes the key that an earlier run made in the same directory, because that key cannot be
 * shown again.
 */
export async function freshKey(keys: KeyStore, name: string, role: Role, more: Partial<NewKey> = {}) {
  const earlier = keys.find(name);
  if (earlier !== null) await keys.revoke(earlier.id);
  const limits = { expiresAt: null, dailyQuota: null, monthlyQuota: null, requestsPerMinute: null };
  const { presented } = await keys.create({ name, role, anonymize: false, ...limits, ...more });
  if (presented === undefined) throw new Error(`could not create the key "${name}"`);
  return presented;
}

export async function signInLink(url: string, key: string): Promise<string> {
  const client = createClient({ where: url, url, unix: null, key });
  return `${url}/signin#code=${(await client.post<SignInLink>("/api/signin/code", {})).code}`;
}
