import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { codeOf, messageOf } from "../domain/error-code.ts";
import type { MemberReachability } from "../domain/poll.ts";

/** How long one member may take to be found and to answer: a poll is never held up by more. */
const TIMEOUT_MS = 2000;
/** Addresses of one name that are tried, all at once. */
const MAX_ADDRESSES = 4;

export interface MemberAddress {
  readonly host: string;
  readonly port: number | null;
}

export interface ReachabilityDeps {
  /** IP addresses of a host name. */
  readonly resolve: (host: string) => Promise<readonly string[]>;
  /** Opens a TCP connection and closes it; rejects when it cannot. */
  readonly touch: (address: string, port: number, signal: AbortSignal) => Promise<void>;
  readonly timeoutMs: number;
}

export type MeasureReachability = (
  members: readonly MemberAddress[],
  signal?: AbortSignal,
) => Promise<MemberReachability[]>;

/** Measures by TCP which members can be reached. What goes wrong stands in the answer; it never rejects. */
export function createReachability(deps: ReachabilityDeps = systemNetwork): MeasureReachability {
  return (members, signal) => Promise.all(members.map((member) => measure(deps, member, signal)));
}

export const systemNetwork: ReachabilityDeps = {
  resolve: async (host) => (await lookup(host, { all: true })).map(({ address }) => address),
  touch,
  timeoutMs: TIMEOUT_MS,
};

async function measure(
  { resolve, touch, timeoutMs }: ReachabilityDeps,
  { host, port }: MemberAddress,
  outer: AbortSignal | undefined,
): Promise<MemberReachability> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), timeoutMs);
  const signal = outer === undefined ? late.signal : AbortSignal.any([late.signal, outer]);
  const { promise: aborted, reject: abort } = Promise.withResolvers<never>();
  if (signal.aborted) abort();
  signal.addEventListener("abort", () => abort(), { once: true });
  let addresses: readonly string[] = [];
  const answer = (reachable: boolean | null, connectMs: number | null, error: string | null) => {
    return { host, port, addresses, reachable, connectMs, error };
  };
  try {
    // A lookup cannot be called off: it is left behind when it takes too long.
    addresses = await Promise.race([resolve(host), aborted]);
    if (port === null) return answer(null, null, "the address names no port");
    if (addresses.length === 0) return answer(false, null, "the name has no address");
    const startedAt = performance.now();
    const tries = addresses.slice(0, MAX_ADDRESSES).map((address) => touch(address, port, signal));
    await Promise.race([Promise.any(tries), aborted]);
    return answer(true, Math.round((performance.now() - startedAt) * 100) / 100, null);
  } catch (error) {
    if (outer?.aborted) return answer(null, null, "called off");
    if (late.signal.aborted) return answer(false, null, `no answer within ${timeoutMs / 1000} s`);
    return answer(false, null, wordsOf(error));
  } finally {
    clearTimeout(timer);
    // Ends the tries that lost.
    aborted.catch(() => {});
    late.abort();
  }
}

async function touch(address: string, port: number, signal: AbortSignal): Promise<void> {
  // Loaded only here: a daemon that measures nothing can do without.
  const { connect } = await import("node:net");
  const socket = connect({ host: address, port });
  // Stays, so that an error after the end finds a listener.
  socket.on("error", () => {});
  try {
    await once(socket, "connect", { signal });
  } finally {
    socket.destroy();
  }
}

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  EHOSTUNREACH: "no route to the host",
  ENETUNREACH: "no route to the network",
  ETIMEDOUT: "no answer",
  ENOTFOUND: "the name cannot be resolved",
  EAI_AGAIN: "the name server does not answer",
};

function wordsOf(error: unknown): string {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  // Bun's resolver prefixes its codes.
  const code = codeOf(first).replace(/^DNS_/, "");
  return code in WORDS ? `${WORDS[code]} (${code})` : messageOf(first);
}
