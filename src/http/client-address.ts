import { type IpNetwork, isWithin, parseIp, parseNetwork } from "../config/ip-address.ts";

/** Placeholder for the address of a request from a Unix socket. */
export const NO_ADDRESS = "local";

/**
 * Determines the address of a request's client. `peer` returns the address of the connection's other end.
 * `trusted` are the addresses and networks (`http.trusted_proxies`) whose X-Forwarded-For is used.
 */
export function createClientAddress(
  peer: (request: Request) => string | null,
  trusted: () => readonly string[],
) {
  /** Parsed networks by list: a reload replaces the list. */
  const parsed = new WeakMap<readonly string[], readonly IpNetwork[]>();
  const parse = (list: readonly string[]) => list.flatMap((text) => parseNetwork(text) ?? []);

  function isTrusted(ip: Ip): boolean {
    return parsed.getOrInsertComputed(trusted(), parse).some((network) => isWithin(ip, network));
  }

  return {
    /**
     * Returns the client's IPv4 address or IPv6 /64. Each proxy appends its client's address, so the header is read from
     * the end, up to the first address that is not trusted. An invalid entry stops at the proxy that wrote it.
     */
    of(request: Request): string {
      let ip = parseIp(peer(request) ?? "");
      if (ip === null) return NO_ADDRESS;
      for (const hop of request.headers.get("x-forwarded-for")?.split(",").toReversed() ?? []) {
        const client: Ip | null = isTrusted(ip) ? parseHop(hop.trim()) : null;
        if (client === null) break;
        ip = client;
      }
      return clientKey(ip);
    },
    /** Reports whether the peer is a proxy whose headers are trusted. */
    behindProxy(request: Request): boolean {
      const ip = parseIp(peer(request) ?? "");
      return ip !== null && isTrusted(ip);
    },
  };
}

type Ip = readonly number[];

/** Some proxies add the port: `192.0.2.1:5555`, `[2001:db8::1]:5555`. */
function parseHop(text: string): Ip | null {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\](?::\d{1,5})?|([^:]*):\d{1,5})$/.exec(text) ?? [];
  return parseIp(bracketed ?? plain ?? text);
}

/** Identifies a client: an IPv4 address, or the /64 that belongs to one IPv6 client. */
function clientKey([a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0]: Ip): string {
  // Built from numbers, because a slice of a header keeps the whole header in memory.
  if (a + b + c + d + e === 0 && f === 0xffff) return `${g >> 8}.${g & 255}.${h >> 8}.${h & 255}`;
  return `${[a, b, c, d].map((group) => group.toString(16)).join(":")}::/64`;
}
