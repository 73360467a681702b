import { clientKey, contains, type Ip, type Network, parseIp, parseNetwork } from "./ip.ts";

/** What stands for a request that came from no address: a unix socket, or no socket at all. */
export const NO_ADDRESS = "local";

/** Whose bucket a request draws on when it has no valid key. */
export interface ClientAddress {
  /** The client's IPv4 address, or its IPv6 /64. Always a short text of its own, never a part of a header. */
  of(request: Request): string;
  /** Whether the other end of the connection is a proxy whose headers count. */
  behindProxy(request: Request): boolean;
}

/**
 * @param peer Address of the connection's other end; null where there is none.
 * @param trusted `http.trusted_proxies`: addresses and networks whose X-Forwarded-For is believed.
 */
export function createClientAddress(
  peer: (request: Request) => string | null,
  trusted: () => readonly string[],
): ClientAddress {
  let parsed: { readonly from: readonly string[]; readonly networks: readonly Network[] } | null = null;

  function isTrusted(ip: Ip): boolean {
    const from = trusted();
    if (parsed?.from !== from) {
      parsed = { from, networks: from.map(parseNetwork).filter((network) => network !== null) };
    }
    return parsed.networks.some((network) => contains(network, ip));
  }

  const peerOf = (request: Request) => parseIp(peer(request) ?? "");

  return {
    of(request) {
      const ip = peerOf(request);
      if (ip === null) return NO_ADDRESS;
      if (trusted().length === 0 || !isTrusted(ip)) return clientKey(ip);
      return clientKey(farthest(ip, request.headers.get("x-forwarded-for"), isTrusted));
    },
    behindProxy(request) {
      if (trusted().length === 0) return false;
      const ip = peerOf(request);
      return ip !== null && isTrusted(ip);
    },
  };
}

/**
 * Each proxy appends whom it was asked by, so the list is read from its end, as long as those who wrote it are
 * trusted: what stands before the first stranger is what that stranger says, and counts for nothing. An entry that
 * is no address ends the way at the proxy that wrote it.
 */
function farthest(proxy: Ip, forwarded: string | null, isTrusted: (ip: Ip) => boolean): Ip {
  let last = proxy;
  let end = forwarded?.length ?? 0;
  while (forwarded !== null && end > 0) {
    const comma = forwarded.lastIndexOf(",", end - 1);
    const ip = parseHop(forwarded.slice(comma + 1, end).trim());
    if (ip === null) return last;
    if (!isTrusted(ip)) return ip;
    last = ip;
    end = comma;
  }
  return last;
}

/** Some proxies add the port: `192.0.2.1:5555`, `[2001:db8::1]:5555`. */
function parseHop(text: string): Ip | null {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\](?::\d{1,5})?|([^:]*):\d{1,5})$/.exec(text) ?? [];
  return parseIp(bracketed ?? plain ?? text);
}
