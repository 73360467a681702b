import type { Log } from "../domain/log.ts";
import type { MemberReachability, PollOutcome, PollRaw } from "../domain/poll.ts";
import type { Reading } from "../domain/reading.ts";
import type { MonitoredServer } from "../domain/server.ts";
import type { Clock } from "../domain/time/clock.ts";
import type { ManagerName } from "../domain/words.ts";
import { createKnownHosts } from "../managers/known-hosts.ts";
import type { Manager } from "../managers/manager.ts";
import { readOutput } from "../managers/read-output.ts";
import { isBusy } from "../store/database/busy.ts";
import { createTurns } from "./pace.ts";
import { errorsOf, isUsable, mayBeCut, pollErrorOf } from "./poll-error.ts";
import type { MeasureReachability, MemberAddress } from "./reachability.ts";
import type { CommandResult, CommandRun, CommandRunner } from "./run-command.ts";
import { findTool } from "./tool.ts";

/** The outcome of a poll that ended in a fault of our own: the server's numbers go stale, and the schedule goes on. */
export function failedInside(serverId: string, startedAt: number, finishedAt: number): PollOutcome {
  return {
    serverId,
    startedAt,
    finishedAt,
    durationMs: finishedAt - startedAt,
    reading: null,
    error: {
      code: "LICENSE_QUERY_FAILED",
      message: "The poll failed inside licmond; its log says more.",
      details: null,
    },
    raw: {
      argv: [],
      exitCode: null,
      signal: null,
      stdout: new Uint8Array(0),
      stderr: new Uint8Array(0),
      truncated: false,
    },
    reachability: [],
  };
}

interface Poller {
  /** Asks one server once. Does not reject for anything that tool or server do. */
  poll(server: MonitoredServer, signal?: AbortSignal): Promise<PollOutcome>;
  /** Drops what was learnt of a server that is gone, or is another one now. */
  forget(serverId: string): void;
}

export interface PollerDeps {
  readonly run: CommandRunner["run"];
  readonly managerOf: (
    name: ManagerName,
  ) => Pick<Manager, "tools" | "parseAddress" | "command" | "createParser">;
  readonly measure: MeasureReachability;
  /** $PATH in which a manager's tool is looked for. */
  readonly path: string;
  readonly clock: Clock;
  /** Keeps the client hosts learnt over a restart; without it they are learnt anew. */
  readonly hosts?: HostsStore;
  readonly log?: Pick<Log, "warn">;
  /** Whether somebody else wants the event loop now, so that polls must leave most of it; never when absent. */
  readonly othersWant?: () => boolean;
}

/** Client hosts by server, oldest first. */
interface HostsStore {
  load(serverId: string): readonly string[];
  save(serverId: string, hosts: readonly string[]): void;
}

/** What is kept of a server between its polls. */
interface Memory {
  readonly knownHosts: ReturnType<typeof createKnownHosts>;
  /** Of the last reading: where the address is a license file, only a reading knows the members. */
  members: readonly MemberAddress[];
}

/**
 * Polls servers: command, run, parse, judge. A timeout that still yielded usable numbers is no error: the reading is
 * kept with `cut` set, so that its server is `partial` and missing features go stale instead of away. Output beyond the
 * cap is an error and is not parsed: 16 MiB of checkouts would take several times their size as a reading.
 */
export function createPoller(deps: PollerDeps): Poller {
  const { run, managerOf, measure, path, clock, hosts, log, othersWant = () => false } = deps;
  const memories = new Map<string, Memory>();
  const turn = createTurns(othersWant);

  function memoryOf(serverId: string): Memory {
    const known = memories.get(serverId);
    if (known !== undefined) return known;
    const memory: Memory = { knownHosts: createKnownHosts(hosts?.load(serverId)), members: [] };
    memories.set(serverId, memory);
    return memory;
  }

  async function poll(server: MonitoredServer, signal?: AbortSignal): Promise<PollOutcome> {
    // A spawn holds the event loop for a millisecond or more: several that are due at once go one by one.
    await turn();
    const startedAt = clock.now();
    const begun = performance.now();
    const manager = managerOf(server.manager);
    const memory = memoryOf(server.id);

    const parsed = manager.parseAddress(server.address);
    const problem = "problem" in parsed ? parsed.problem : null;
    const members = "problem" in parsed || parsed.members.length === 0 ? memory.members : parsed.members;
    const measured = measure(members, signal);

    const result = problem === null ? await runTool(manager, server, signal) : wrongAddress(server, problem);
    await turn();
    const reading =
      result.started && !result.truncated ? await read(manager, server, result, memory, startedAt) : null;
    if (reading !== null && reading.members.length > 0) memory.members = reading.members;

    if (reading?.recognised && !signal?.aborted) keepHosts(server.id, memory);

    // The poll ends here: what the measurement beside it takes is no part of the tool's time, nor of the numbers' age.
    const durationMs = Math.round(performance.now() - begun);
    const reachability: readonly MemberReachability[] =
      members.length > 0 ? await measured : await measure(memory.members, signal);
    // What is made of the reading (its picture, sessions, rows) has a turn of its own too.
    await turn();
    return {
      serverId: server.id,
      startedAt,
      finishedAt: startedAt + durationMs,
      durationMs,
      reading: reading?.recognised ? reading : null,
      error: pollErrorOf({ result, reading, address: server.address, timeoutMs: server.timeoutMs }),
      raw: rawOf(result),
      reachability,
    };
  }

  function keepHosts(serverId: string, { knownHosts }: Memory): void {
    if (hosts === undefined) return;
    try {
      hosts.save(serverId, knownHosts.list());
    } catch (error) {
      // Only a restart would miss them: no reason to lose the reading. The next poll keeps them too.
      if (isBusy(error)) return;
      log?.warn("known hosts could not be kept", { server: serverId, error: String(error) });
    }
  }

  function runTool(
    manager: Pick<Manager, "tools" | "command">,
    server: MonitoredServer,
    signal: AbortSignal | undefined,
  ): Promise<CommandResult> {
    const command = manager.command(server.tool ?? [findTool(manager.tools, path)], server.address);
    return run({
      argv: command.argv,
      // The banner's clock and the parser's zone are then the same.
      env: { TZ: server.timezone, ...command.env },
      timeoutMs: server.timeoutMs,
      endEscaped: true,
      ...(signal !== undefined && { signal }),
    });
  }

  return { poll, forget: (serverId) => void memories.delete(serverId) };
}

async function read(
  manager: Pick<Manager, "createParser">,
  server: MonitoredServer,
  result: CommandRun,
  { knownHosts }: Memory,
  now: number,
): Promise<Reading> {
  const cut = mayBeCut(result);
  const context = { zone: server.timezone, now, knownHosts };
  const reading = await readOutput(result.stdout, manager.createParser(context), cut);
  const whole = cut && !reading.cut ? { ...reading, cut } : reading;
  if (isUsable(whole) || errorsOf(whole).length > 0 || result.stderr.length === 0) return whole;
  // Some builds, and wrappers around them, complain on stderr alone. Numbers are believed on stdout only.
  const { errors } = await readOutput(result.stderr, manager.createParser(context), cut);
  return errors.length === 0 ? whole : { ...whole, recognised: true, errors };
}

function wrongAddress(server: MonitoredServer, problem: string): CommandResult {
  return {
    started: false,
    argv: [],
    failure: {
      reason: "other",
      path: null,
      message: `The server's address is wrong: ${problem}.`,
      fix: `correct the \`address\` of ${server.id}`,
    },
  };
}

const NOTHING = new Uint8Array(0);

function rawOf(result: CommandResult): PollRaw {
  if (!result.started) {
    return {
      argv: result.argv,
      exitCode: null,
      signal: null,
      stdout: NOTHING,
      stderr: NOTHING,
      truncated: false,
    };
  }
  const { argv, exitCode, signal, stdout, stderr, truncated } = result;
  return { argv, exitCode, signal, stdout, stderr, truncated };
}
