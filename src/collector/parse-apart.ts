import { emptyReading, type Reading } from "../domain/reading.ts";
import { printPath } from "../domain/schema-problems.ts";
import { inSlices } from "../domain/time/slices.ts";
import type { ParseContext } from "../managers/manager.ts";
import { expressionsOf, type Profile } from "../managers/profile.ts";
import type { ParseAnswer, ParseOrder } from "../managers/profiles/parsing-service.ts";
import { joinChunks } from "../managers/profiles/reading-chunks.ts";

/** Maximum time to parse an answer. The largest answers (16 MiB) need a tenth of it. */
const LIMIT_MS = 5_000;
/**
 * Maximum time to parse an answer with a profile whose last answer took too long, so that the profile's
 * other servers do not delay other profiles.
 */
const LIMIT_AGAIN_MS = 1_000;

export type ParseApart = ReturnType<typeof createParseApart>;

interface Waiting {
  readonly order: ParseOrder;
  readonly pieces: string[];
  settle(reading: Reading): void;
}

/** In the binary, the worker is an entry point next to the main one. */
function startParsingWorker(): Worker {
  return new Worker(
    Bun.isStandaloneExecutable
      ? "./workers/parsing.ts"
      : new URL("../workers/parsing.ts", import.meta.url).href,
  );
}

/**
 * Parses answers with profiles in a worker, one by one. Administrators write the expressions and the texts
 * come from anywhere, so a match may take practically forever. If parsing takes too long, the worker is
 * terminated and the expression is reported. The worker starts with the first answer.
 */
export function createParseApart({ startWorker = startParsingWorker, limitMs = LIMIT_MS } = {}) {
  const queue: Waiting[] = [];
  /** Names of profiles whose last answer took too long. */
  const slow = new Set<string>();
  let worker: Worker | null = null;
  let current: Waiting | null = null;
  let timer: Timer | undefined;
  let lastId = 0;

  function running(): Worker {
    if (worker !== null) return worker;
    const fresh = startWorker();
    fresh.onmessage = ({ data }: MessageEvent<ParseAnswer>) => {
      if (worker === fresh && data.id === current?.order.id) take(current, data);
    };
    fresh.onerror = (event) => {
      event.preventDefault();
      if (worker === fresh) end(`The parsing worker failed: ${event.message}.`);
    };
    fresh.unref();
    worker = fresh;
    return fresh;
  }

  function take(from: Waiting, answer: ParseAnswer): void {
    const { profile } = from.order;
    if ("pieces" in answer) {
      from.pieces.push(...answer.pieces);
      if (!answer.isLast) return;
      slow.delete(profile.name);
    }
    clearTimeout(timer);
    current = null;
    next();
    if ("pieces" in answer) void inSlices(joinChunks(from.pieces)).then(from.settle);
    else from.settle({ ...emptyReading(profile.name), problem: `Parsing failed: ${answer.failure}.` });
  }

  /** Terminates the worker; the next answer starts a new one. */
  function end(problem: string): void {
    clearTimeout(timer);
    const ended = current;
    worker?.terminate();
    worker = null;
    current = null;
    if (ended !== null) ended.settle({ ...emptyReading(ended.order.profile.name), problem });
    next();
  }

  function next(): void {
    const order = current === null ? queue.shift() : undefined;
    if (order === undefined) return;
    current = order;
    const { profile, progress } = order.order;
    const most = slow.has(profile.name) ? Math.min(limitMs, LIMIT_AGAIN_MS) : limitMs;
    let isExtended = false;
    const late = () => {
      // Extend the limit once if parsing has not begun, because a new worker may need some time to start.
      if (!isExtended && new Int32Array(progress)[2] === 0) {
        isExtended = true;
        timer = setTimeout(late, limitMs);
        return;
      }
      slow.add(profile.name);
      end(`${whatHangs(profile, progress)} did not finish within ${most / 1000} s and was stopped.`);
    };
    timer = setTimeout(late, most);
    running().postMessage(order.order);
  }

  return {
    /** Never rejects. If parsing fails, the reading's `problem` has the reason. */
    read(
      profile: Profile,
      bytes: Uint8Array,
      context: Omit<ParseContext, "knownHosts">,
      truncated: boolean,
    ): Promise<Reading> {
      const { promise, resolve } = Promise.withResolvers<Reading>();
      const order = { id: ++lastId, profile, bytes, truncated, context, progress: new SharedArrayBuffer(12) };
      queue.push({ order, pieces: [], settle: resolve });
      next();
      return promise;
    },
    /** Terminates the worker and drops queued answers. */
    stop(): void {
      queue.length = 0;
      end("licmond is shutting down.");
    },
  };
}

function whatHangs(profile: Profile, progress: SharedArrayBuffer): string {
  const [index = 0, line = 0] = new Int32Array(progress);
  const expression = expressionsOf(profile)[index];
  if (line === 0 || expression === undefined) return `Parsing the answer for the manager ${profile.name}`;
  return `The expression ${printPath(expression.path)} of the manager ${profile.name}, on line ${line},`;
}
