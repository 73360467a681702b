import { lookup } from "node:dns/promises";
import { codeOf, messageOf } from "../domain/error-code.ts";
import type { MemberReachability } from "../domain/poll.ts";

/** Maximum time to look up and connect to a member, and so the longest delay of a poll. */
const TIMEOUT_MS = 2000;
/** Maximum number of addresses that are tried per name, all at once. */
const MAX_ADDRESSES = 4;

export interface MemberAddress {
  readonly host: string;
  readonly port: number | null;
}

export interface ReachabilityDeps {
  readonly resolve: (host: string) => Promise<readonly string[]>;
  /** Opens and closes a TCP connection. */
  readonly touch: (address: string, port: number) => Promise<void>;
  readonly timeoutMs: number;
}

export type MeasureReachability = (
  members: readonly MemberAddress[],
  signal?: AbortSignal,
) => Promise<MemberReachability[]>;

/** Measures by TCP which members are reachable. Never rejects. */
export function createReachability(deps: ReachabilityDeps = systemNetwork): MeasureReachability {
  return (members, signal) => Promise.all(members.map((member) => measure(deps, member, signal)));
}

export const systemNetwork: ReachabilityDeps = {
  resolve: async (host) => (await lookup(host, { all: true })).map(({ address }) => address),
  touch,
  timeoutMs: TIMEOUT_MS,
};

const LATE = Symbol("late");
const CANCELLED = Symbol("cancelled");

/** Stops waiting after the time limit; neither a lookup nor a connection can be cancelled. */
async function measure(
  { resolve, touch, timeoutMs }: ReachabilityDeps,
  { host, port }: MemberAddress,
  signal: AbortSignal | undefined,
): Promise<MemberReachability> {
  const { promise: ended, reject: end } = Promise.withResolvers<never>();
  ended.catch(() => {});
  const timer = setTimeout(() => end(LATE), timeoutMs);
  const cancel = () => end(CANCELLED);
  if (signal?.aborted) cancel();
  signal?.addEventListener("abort", cancel, { once: true });
  let addresses: readonly string[] = [];
  const answer = (reachable: boolean | null, connectMs: number | null, error: string | null) => {
    return { host, port, addresses, reachable, connectMs, error };
  };
  try {
    addresses = await Promise.race([resolve(host), ended]);
    if (port === null) return answer(null, null, "the address has no port");
    if (addresses.length === 0) return answer(false, null, "the host name has no address");
    const startedAt = performance.now();
    const tries = addresses.slice(0, MAX_ADDRESSES).map((address) => touch(address, port));
    await Promise.race([Promise.any(tries), ended]);
    return answer(true, Math.round((performance.now() - startedAt) * 100) / 100, null);
  } catch (error) {
    if (error === CANCELLED) return answer(null, null, "cancelled");
    if (error === LATE) return answer(false, null, `no answer within ${timeoutMs / 1000} s`);
    return answer(false, null, wordsOf(error));
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", cancel);
  }
}

/**
 * Pending connections by address and port. Without an answer, a connection takes two minutes to fail. Later
 * polls wait for the pending connection instead of starting another one.
 */
const underWay = new Map<string, Promise<void>>();

function touch(address: string, port: number): Promise<void> {
  const key = `${address} ${port}`;
  const tried = underWay.get(key) ?? connect(address, port).finally(() => underWay.delete(key));
  underWay.set(key, tried);
  return tried;
}

async function connect(hostname: string, port: number): Promise<void> {
  const socket = { open: (opened: Bun.Socket) => void opened.end(), data() {}, error() {} };
  await Bun.connect({ hostname, port, socket });
}

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  EHOSTUNREACH: "no route to host",
  ENETUNREACH: "network unreachable",
  ETIMEDOUT: "no answer",
  ENOTFOUND: "unknown host name",
  EAI_AGAIN: "no answer from the name server",
};

function wordsOf(error: unknown): string {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  // Bun's resolver prefixes its codes.
  const code = codeOf(first).replace(/^DNS_/, "");
  return code in WORDS ? `${WORDS[code]} (${code})` : messageOf(first);
}
