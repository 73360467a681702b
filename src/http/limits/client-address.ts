import { isIP } from "node:net";

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

/** An address as eight groups of 16 bits; IPv4 as the mapped address `::ffff:a.b.c.d` (RFC 4291 2.5.5.2). */
type Ip = readonly number[];

interface Network {
  readonly ip: Ip;
  /** 0–128, of the eight groups. */
  readonly bits: number;
}

/** Reads an address, a zone (`%eth0`) left out; null when it is none. */
export function parseIp(text: string): Ip | null {
  const family = isIP(text);
  if (family === 0) return null;
  if (family === 4) return [0, 0, 0, 0, 0, 0xffff, ...groupsOfIpv4(text)];
  const [bare = ""] = text.split("%");
  const [head = "", tail] = bare.split("::");
  const front = groupsOf(head);
  if (tail === undefined) return front;
  const back = groupsOf(tail);
  return [...front, ...Array<number>(8 - front.length - back.length).fill(0), ...back];
}

/** Reads an address (a network of one) or `address/bits`; null when it is neither. */
export function parseNetwork(text: string): Network | null {
  const [address = "", bits] = text.split("/");
  const ip = parseIp(address);
  if (ip === null) return null;
  if (bits === undefined) return { ip, bits: 128 };
  return { ip, bits: Number(bits) + (isIP(address) === 4 ? 96 : 0) };
}

export function contains({ ip, bits }: Network, address: Ip): boolean {
  return ip.every((group, index) => {
    const compared = Math.min(16, Math.max(0, bits - index * 16));
    const mask = (0xffff << (16 - compared)) & 0xffff;
    return (group & mask) === ((address[index] ?? 0) & mask);
  });
}

/** Who counts as one client: an IPv4 address, or the /64 that one IPv6 client has all of. */
function clientKey(ip: Ip): string {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = ip;
  if (a + b + c + d + e === 0 && f === 0xffff) return `${g >> 8}.${g & 255}.${h >> 8}.${h & 255}`;
  return `${a.toString(16)}:${b.toString(16)}:${c.toString(16)}:${d.toString(16)}::/64`;
}

function groupsOf(text: string): number[] {
  if (text === "") return [];
  return text
    .split(":")
    .flatMap((group) => (group.includes(".") ? groupsOfIpv4(group) : [Number.parseInt(group, 16)]));
}

function groupsOfIpv4(text: string): number[] {
  const [a = 0, b = 0, c = 0, d = 0] = text.split(".").map(Number);
  return [a * 256 + b, c * 256 + d];
}
