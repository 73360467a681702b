import { pollErrorOf } from "../collector/poll-error.ts";
import { applyPoll } from "../domain/apply-poll.ts";
import type { ServerPicture } from "../domain/picture.ts";
import type { PollError } from "../domain/poll.ts";
import type { ManagerName } from "../domain/words.ts";
import { hostZone } from "../domain/zone.ts";
import { createKnownHosts } from "../managers/known-hosts.ts";
import { readOutputSync } from "../managers/read-output.ts";
import { managerOf } from "../managers/registry.ts";

export interface ParseRequest {
  readonly manager: ManagerName;
  readonly timezone?: string | undefined;
  /** Id of the server in the records. */
  readonly server?: string | undefined;
  /** Where the text came from. */
  readonly name: string;
  /** Epoch ms. */
  readonly now: number;
}

/** A text as if a poll had yielded it just now: through the same parser, rules and words as the collector's. */
export function parseOutput(
  bytes: Uint8Array,
  { manager, timezone = hostZone(), server: id = manager, name, now }: ParseRequest,
): { readonly picture: ServerPicture; readonly error: PollError | null } {
  const parser = managerOf(manager).createParser({ zone: timezone, now, knownHosts: createKnownHosts() });
  const reading = readOutputSync(bytes, parser);
  const nothing = new Uint8Array(0);
  const raw = {
    argv: [name],
    exitCode: 0,
    signal: null,
    stdout: bytes,
    stderr: nothing,
    truncated: false,
    stderrTruncated: false,
  };
  const run = {
    ...raw,
    started: true,
    timedOut: false,
    aborted: false,
    abandoned: false,
    durationMs: 0,
  } as const;
  const server = {
    ...{
      id,
      name: id,
      manager,
      address: name,
      tool: null,
      timezone,
      enabled: true,
      labels: {},
      logFile: null,
    },
    ...{ intervalMs: 0, timeoutMs: 0 },
  };
  const error = pollErrorOf({ result: run, reading, address: null, timeoutMs: 0 });
  const outcome = {
    ...{ serverId: id, startedAt: now, finishedAt: now, durationMs: 0, raw, reachability: [], error },
    reading: reading.recognised ? reading : null,
  };
  const picture = applyPoll(null, server, outcome, null);
  // A text of which nothing is known has all its lines unknown: the parser counted them.
  return { picture: { ...picture, unparsed: reading.unparsed, unparsedLines: reading.unparsedLines }, error };
}
