import type { Log } from "../domain/log.ts";
import type { PollError, PollOutcome } from "../domain/poll.ts";
import { MAX_UNPARSED_KEPT, type Reading } from "../domain/reading.ts";
import type { MonitoredServer } from "../domain/server.ts";
import type { Clock } from "../domain/time/clock.ts";
import { inSlices } from "../domain/time/slices.ts";
import type { ManagerName } from "../domain/words.ts";
import { createKnownHosts, type Manager } from "../managers/manager.ts";
import { createOutputMemory } from "../managers/output-memory.ts";
import { readOutput } from "../managers/read-output.ts";
import { isBusy } from "../store/database/busy.ts";
import type { KnownHostsStore } from "../store/servers.ts";
import { type Asked, askInTurn, isSilent, NO_RUN, rawOf, type StepAnswer } from "./ask.ts";
import { askStep, notAsked, type StepDeps } from "./ask-step.ts";
import { createTurns } from "./pace.ts";
import { createParseApart, type ParseApart } from "./parse-apart.ts";
import { isUsable, pollErrorOf } from "./poll-error.ts";
import type { MeasureReachability, MemberAddress } from "./reachability.ts";
import type { CommandRunner } from "./run-command.ts";
import { findTool } from "./tool.ts";

export interface PollerDeps {
  readonly run: CommandRunner["run"];
  readonly managerOf: (
    name: ManagerName,
  ) => Pick<
    Manager,
    | "name"
    | "tools"
    | "parseAddress"
    | "steps"
    | "until"
    | "merge"
    | "createParser"
    | "explain"
    | "quorum"
    | "profile"
  >;
  /** Reads what profiles read; default: a worker of its own, which starts with the first answer. */
  readonly parseApart?: Pick<ParseApart, "read">;
  readonly measure: MeasureReachability;
  /** $PATH in which a manager's tool is looked for. */
  readonly path: string;
  readonly clock: Clock;
  /** Keeps the client hosts learnt over a restart; without it they are learnt again. */
  readonly hosts?: KnownHostsStore;
  readonly log?: Pick<Log, "warn">;
  /** Whether requests want the event loop now, so that polls must leave most of it; never when absent. */
  readonly requestsWant?: () => boolean;
}

/**
 * Polls servers: ask, parse, judge. A timeout that still yielded usable numbers is no error: the reading is
 * kept with `cut` set, so that its server is `partial` and missing features go stale instead of away. Output beyond the
 * cap is an error and is not parsed: 16 MiB of checkouts would take several times their size as a reading.
 */
export function createPoller(deps: PollerDeps) {
  const { run, managerOf, parseApart = createParseApart(), measure, path, clock, hosts, log } = deps;
  const { requestsWant = () => false } = deps;
  /** What is kept of a server between its polls. */
  const known = new Map<string, ReturnType<typeof nothingKnown>>();
  const turn = createTurns(requestsWant);

  function nothingKnown(id: string) {
    const learnt = createKnownHosts(hosts?.load(id));
    return {
      hosts: learnt,
      /** How many of the hosts were learnt when they were stored. */
      stored: learnt.learnt(),
      /** By name of the step. */
      outputs: new Map<string, ReturnType<typeof createOutputMemory>>(),
      /** Of the last reading: where the address is a license file, only a reading knows the members. */
      members: [] as readonly MemberAddress[],
    };
  }

  /** Asks one server once. Does not reject for anything that tool or server do. */
  async function poll(server: MonitoredServer, signal?: AbortSignal): Promise<PollOutcome> {
    // A spawn holds the event loop for a millisecond or more: several that are due at once go one by one.
    await turn();
    const startedAt = clock.now();
    const begun = performance.now();
    const manager = managerOf(server.manager);
    const own = known.getOrInsertComputed(server.id, nothingKnown);

    const parsed = manager.parseAddress(server.address);
    const isNamed = !("problem" in parsed) && parsed.members.length > 0;
    const members = isNamed ? parsed.members : own.members;
    const measured = measure(members, signal);

    const { profile } = manager;
    // As long as an answer of the poll before the last one may have been kept somewhere.
    const maxAgeMs = 2 * server.intervalMs + server.timeoutMs;
    const deps: StepDeps = {
      run,
      server,
      turn,
      read({ name: step }, bytes, truncated, isAnswer) {
        const context = { zone: server.timezone, now: startedAt, step, maxAgeMs };
        if (profile !== undefined) return parseApart.read(profile, bytes, context, truncated);
        const parser = () => manager.createParser({ ...context, knownHosts: own.hosts });
        if (!isAnswer) return readOutput(bytes, parser(), truncated);
        const memory = own.outputs.getOrInsertComputed(step, createOutputMemory);
        return memory(bytes, parser, startedAt, truncated);
      },
      ...(signal !== undefined && { signal }),
    };
    const asked =
      "problem" in parsed
        ? wrongAddress(server, parsed.problem)
        : await askInTurn(manager, stepsOf(manager, server, path), server.timeoutMs, (step, limitMs) =>
            askStep(step, limitMs, deps),
          );
    const reading = withSilentSteps(asked, server.address, manager.explain);
    if (reading !== null && reading.members.length > 0) own.members = reading.members;
    await inSlices(own.hosts.learnAdded());
    if (reading?.recognised && !signal?.aborted) keepHosts(server.id, own);

    // The poll ends here: what the measurement beside it takes is no part of the tool's time, nor of the numbers' age.
    const durationMs = Math.round(performance.now() - begun);
    const reachability = await (members.length > 0 ? measured : measure(own.members, signal));
    // What is made of the reading (its picture, sessions, rows) has a turn of its own too.
    await turn();
    const error = errorOf(asked, server.address, manager.explain);
    return {
      ...outcomeAt(server.id, startedAt, durationMs),
      reading: reading?.recognised ? reading : null,
      error,
      raw: rawOf(asked),
      reachability,
      quorum: manager.quorum(reading?.members.length ?? 0),
    };
  }

  function keepHosts(serverId: string, own: ReturnType<typeof nothingKnown>): void {
    const learnt = own.hosts.learnt();
    if (own.stored === learnt) return;
    try {
      hosts?.save(serverId, own.hosts.list());
      own.stored = learnt;
    } catch (error) {
      // Only a restart would miss them: no reason to lose the reading. The next poll keeps them too.
      if (isBusy(error)) return;
      log?.warn("known hosts could not be kept", { server: serverId, error: String(error) });
    }
  }

  return {
    poll,
    /** Drops what was learnt of a server that is gone, or is another one now. */
    forget: (serverId: string): void => void known.delete(serverId),
  };
}

/** The outcome of a poll that ended in a fault of our own: the server's numbers go stale, and the schedule goes on. */
export function failedInside(serverId: string, startedAt: number, finishedAt: number): PollOutcome {
  const message = "The poll failed inside licmond; its log says more.";
  return {
    ...outcomeAt(serverId, startedAt, finishedAt - startedAt),
    reading: null,
    error: { code: "LICENSE_QUERY_FAILED", message, details: null },
    raw: NO_RUN,
    reachability: [],
    quorum: 1,
  };
}

function outcomeAt(serverId: string, startedAt: number, durationMs: number) {
  return { serverId, startedAt, finishedAt: startedAt + durationMs, durationMs };
}

/** The tool is looked for only where there is one. */
function stepsOf({ tools, steps }: Pick<Manager, "tools" | "steps">, server: MonitoredServer, path: string) {
  const tool = server.tool ?? (tools.length === 0 ? [] : [findTool(tools, path)]);
  return steps(tool, server.address, server.secretFile !== null);
}

function wrongAddress({ id, timeoutMs }: MonitoredServer, problem: string): Asked {
  const message = `The server's address is wrong: ${problem}.`;
  const result = notAsked(null, message, `correct the \`address\` of ${id}`);
  const deciding: StepAnswer = {
    step: { name: "", argv: [], env: {} },
    result,
    reading: null,
    limitMs: timeoutMs,
  };
  return { answers: [deciding], deciding, reading: null };
}

/** Where one of several steps has no answer, the others may be enough; the unparsed lines say what is missing. */
function withSilentSteps(
  { answers, reading }: Asked,
  address: string,
  explain: Manager["explain"],
): Reading | null {
  if (reading === null || answers.length === 1 || !isUsable(reading)) return reading;
  const silent = answers.filter(isSilent).flatMap(({ step, result, limitMs, reading: own }) => {
    const error = pollErrorOf({ result, reading: own, address, timeoutMs: limitMs, explain });
    return error === null ? [] : [{ line: 1, text: `${step.name}: ${error.message}` }];
  });
  const unparsed = [...silent, ...reading.unparsed].slice(0, MAX_UNPARSED_KEPT);
  return { ...reading, unparsed, unparsedLines: reading.unparsedLines + silent.length };
}

/** Of several steps, that of the one that counts; none where their common reading is good for something. */
function errorOf(
  { deciding, reading }: Asked,
  address: string,
  explain: Manager["explain"],
): PollError | null {
  if (reading !== null && isUsable(reading)) return null;
  const { result, limitMs } = deciding;
  return pollErrorOf({ result, reading: deciding.reading ?? reading, address, timeoutMs: limitMs, explain });
}
