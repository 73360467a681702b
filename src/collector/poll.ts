import { isDeepStrictEqual } from "node:util";
import type { Log } from "../domain/log.ts";
import type { PollError, PollOutcome } from "../domain/poll.ts";
import { MAX_UNPARSED_KEPT, type Reading } from "../domain/reading.ts";
import { longestSilence, type MonitoredServer } from "../domain/server.ts";
import { type Clock, DAY_MS } from "../domain/time/clock.ts";
import { inSlices } from "../domain/time/slices.ts";
import type { ManagerName } from "../domain/words.ts";
import { createKnownHosts, type Manager, type ReadingParser, type TextParser } from "../managers/manager.ts";
import { readOutput, readOutputSync } from "../managers/read-output.ts";
import { isBusy } from "../store/database/busy.ts";
import type { KnownHostsStore } from "../store/servers.ts";
import {
  type Asked,
  askInTurn,
  askStep,
  isSilent,
  NO_RUN,
  notAsked,
  rawOf,
  type StepAnswer,
  type StepDeps,
} from "./ask.ts";
import { createTurns } from "./pace.ts";
import { createParseApart, type ParseApart } from "./parse-apart.ts";
import { isUsable, pollErrorOf } from "./poll-error.ts";
import type { MeasureReachability, MemberAddress } from "./reachability.ts";
import type { CommandRunner } from "./run-command.ts";
import { findTool } from "./tool.ts";

export interface PollerDeps {
  readonly run: CommandRunner["run"];
  readonly managerOf: (name: ManagerName) => Manager;
  /** Parses answers with profiles in a worker. Default: a new worker, which starts with the first answer. */
  readonly parseApart?: Pick<ParseApart, "read">;
  readonly measure: MeasureReachability;
  readonly path: string;
  readonly clock: Clock;
  /** Keeps known client hosts over a restart. */
  readonly hosts?: KnownHostsStore;
  readonly log?: Pick<Log, "warn">;
  /** Reports whether requests wait for the event loop. Default: never. */
  readonly requestsWant?: () => boolean;
}

/**
 * Polls servers: runs the query, parses the answer, classifies the result. A timeout with usable data is
 * not an error: the reading is marked `cut`, so that the server is `partial` and missing features become
 * stale instead of removed. Output above the size limit is an error and is not parsed, because as a
 * reading, 16 MiB of checkouts would need several times as much memory.
 */
export function createPoller(deps: PollerDeps) {
  const { run, managerOf, parseApart = createParseApart(), measure, path, clock, hosts, log } = deps;
  const { requestsWant = () => false } = deps;
  const known = new Map<string, ReturnType<typeof nothingKnown>>();
  const turn = createTurns(requestsWant);

  function nothingKnown(id: string) {
    const learnt = createKnownHosts(hosts?.load(id));
    return {
      hosts: learnt,
      /** Number of learnt hosts when they were last stored. */
      stored: learnt.learnt(),
      /** Memory of the last output, by name of the step. */
      outputs: new Map<string, ReturnType<typeof createOutputMemory>>(),
      /** Members of the last reading. If the address is a license file, only a reading has them. */
      members: [] as readonly MemberAddress[],
    };
  }

  /** Does not reject for failures of the tool or the server. */
  async function poll(server: MonitoredServer, signal?: AbortSignal): Promise<PollOutcome> {
    // Starting a process blocks the event loop for a millisecond or more, so simultaneous polls start one
    // by one.
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
    // A cached answer may be as old as the longest time between two polls that count as continuous.
    const maxAgeMs = longestSilence(server);
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

    // Measure before the wait for the reachability check, which must not count as the tool's time or as the
    // age of the data.
    const durationMs = Math.round(performance.now() - begun);
    const reachability = await (members.length > 0 ? measured : measure(own.members, signal));
    // The caller processes the reading (picture, sessions, rows) in another turn.
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
      // Ignore a busy database: the next poll stores the hosts again, and they matter only after a restart.
      if (isBusy(error)) return;
      log?.warn("known hosts could not be stored", { server: serverId, error: String(error) });
    }
  }

  return {
    poll,
    forget: (serverId: string): void => void known.delete(serverId),
  };
}

/** Returns the outcome of a poll that failed because of a bug in licmond. */
export function failedInside(serverId: string, startedAt: number, finishedAt: number): PollOutcome {
  const message = "The poll failed because of an error in licmond; see its log.";
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

function stepsOf({ tools, steps }: Pick<Manager, "tools" | "steps">, server: MonitoredServer, path: string) {
  const tool = server.tool ?? (tools.length === 0 ? [] : [findTool(tools, path)]);
  return steps(tool, server.address, server.secretFile !== null);
}

function wrongAddress({ id, timeoutMs }: MonitoredServer, problem: string): Asked {
  const message = `Invalid address: ${problem}.`;
  const result = notAsked(null, message, `correct the \`address\` of ${id}`);
  const deciding: StepAnswer = {
    step: { name: "", argv: [], env: {} },
    result,
    reading: null,
    limitMs: timeoutMs,
  };
  return { answers: [deciding], deciding, reading: null };
}

/** Reports failed steps as unparsed lines; the reading may be usable without them. */
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

function errorOf(
  { deciding, reading }: Asked,
  address: string,
  explain: Manager["explain"],
): PollError | null {
  if (reading !== null && isUsable(reading)) return null;
  const { result, limitMs } = deciding;
  return pollErrorOf({ result, reading: deciding.reading ?? reading, address, timeoutMs: limitMs, explain });
}

/** Number of lines at the start of an output; one of them contains the report's time. */
const HEAD_LINES = 4;
const MAX_HEAD = 4096;
const LF = 0x0a;

interface Output {
  readonly head: Reading;
  readonly digest: string;
  readonly reading: Reading;
  /** Report time, or the time of the reading if the report has none. */
  readonly time: number;
}

/**
 * Reads the outputs of one server. Most outputs differ from the previous output only in their report time.
 * Such an output is not parsed again, which saves a third of the work of a 50 KB poll, and the new reading
 * has the same feature objects.
 */
export function createOutputMemory() {
  let last: Output | null = null;

  /** Reads an output; `truncated` means that it may be cut. */
  return async function read(
    bytes: Uint8Array,
    parser: () => ReadingParser | TextParser,
    now: number,
    truncated: boolean,
  ): Promise<Reading> {
    const before = last;
    last = null;
    const end = endOfHead(bytes);
    const first = parser();
    if (truncated || end > MAX_HEAD || "text" in first) return readOutput(bytes, first, truncated);
    const head = readOutputSync(bytes.subarray(0, end), first);
    const digest = `${bytes.length - end} ${Bun.hash(bytes.subarray(end))}`;
    const { reportTime } = head;
    if (before?.digest === digest && isSameHead(before, head, now)) {
      last = before;
      return { ...before.reading, reportTime };
    }
    const reading = await readOutput(bytes, parser());
    last = { head, digest, reading, time: reading.reportTime ?? now };
    return reading;
  };
}

/** Reports whether the head differs from the previous one only in its report time, and by a day at most. */
function isSameHead(last: Output, head: Reading, now: number): boolean {
  const { reportTime } = head;
  return (
    // Otherwise the output contains several reports, and the reading has the time of a later report.
    last.head.reportTime === last.reading.reportTime &&
    // A larger difference could change the year of dates that are printed without a year.
    Math.abs((reportTime ?? now) - last.time) <= DAY_MS &&
    isDeepStrictEqual({ ...last.head, reportTime }, head)
  );
}

function endOfHead(bytes: Uint8Array): number {
  let end = 0;
  for (let lines = 0; lines < HEAD_LINES; lines++) end = bytes.indexOf(LF, end) + 1 || bytes.length;
  return end;
}
