import { BlockList, isIP } from "node:net";

/** What stands for a request that came from no address: a unix socket, or no socket at all. */
export const NO_ADDRESS = "local";

/**
 * Who a request comes from.
 * @param peer Address of the connection's other end; null where there is none.
 * @param trusted `http.trusted_proxies`: addresses and networks whose X-Forwarded-For is believed.
 */
export function createClientAddress(
  peer: (request: Request) => string | null,
  trusted: () => readonly string[],
) {
  /** The networks of the list that was asked for last. */
  let parsed = { from: [] as readonly string[], networks: new BlockList() };

  function isTrusted({ address, family }: Ip): boolean {
    const from = trusted();
    if (from.length === 0) return false;
    if (parsed.from !== from) parsed = { from, networks: networksOf(from) };
    return parsed.networks.check(address, family);
  }

  return {
    /** The client's IPv4 address, or its IPv6 /64. Always a short text of its own, never a part of a header. */
    of(request: Request): string {
      const ip = parseIp(peer(request) ?? "");
      if (ip === null) return NO_ADDRESS;
      return clientKey(farthest(ip, request.headers.get("x-forwarded-for")?.split(",") ?? [], isTrusted));
    },
    /** Whether the other end of the connection is a proxy whose headers count. */
    behindProxy(request: Request): boolean {
      const ip = parseIp(peer(request) ?? "");
      return ip !== null && isTrusted(ip);
    },
  };
}

/**
 * Each proxy appends the address of its client, so the list is read from its end, as long as the proxies that wrote it
 * are trusted: what stands before the first stranger is what that stranger says, and counts for nothing. An entry that
 * is no address ends the way at the proxy that wrote it.
 */
function farthest(proxy: Ip, forwarded: readonly string[], isTrusted: (ip: Ip) => boolean): Ip {
  let last = proxy;
  for (const hop of forwarded.toReversed()) {
    const ip = isTrusted(last) ? parseHop(hop.trim()) : null;
    if (ip === null) break;
    last = ip;
  }
  return last;
}

interface Ip {
  readonly address: string;
  readonly family: "ipv4" | "ipv6";
}

/** Some proxies add the port: `192.0.2.1:5555`, `[2001:db8::1]:5555`. */
function parseHop(text: string): Ip | null {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\](?::\d{1,5})?|([^:]*):\d{1,5})$/.exec(text) ?? [];
  return parseIp(bracketed ?? plain ?? text);
}

/** Reads an address, a zone (`%eth0`) left out; null when it is none. */
function parseIp(text: string): Ip | null {
  const family = isIP(text);
  if (family === 0) return null;
  return { address: text.split("%", 1)[0] ?? "", family: family === 4 ? "ipv4" : "ipv6" };
}

/** The config has made sure that each is an address or `address/bits`. */
function networksOf(texts: readonly string[]): BlockList {
  const networks = new BlockList();
  for (const text of texts) {
    const [address = "", bits] = text.split("/");
    const ip = parseIp(address);
    if (ip === null) continue;
    const all = ip.family === "ipv4" ? 32 : 128;
    networks.addSubnet(ip.address, bits === undefined ? all : Number(bits), ip.family);
  }
  return networks;
}

/** What counts as one client: an IPv4 address, or the /64 that one IPv6 client has all of. */
function clientKey({ address, family }: Ip): string {
  // Made of numbers: a part of a header would keep the whole of it in memory.
  if (family === "ipv4") return address.split(".").map(Number).join(".");
  const [head = "", tail = ""] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const groupsOf = (part: string) => part.split(":").filter(Boolean);
  const zeros = Array<string>(8 - groupsOf(head).length - groupsOf(tail).length).fill("0");
  const groups = [...groupsOf(head), ...zeros, ...groupsOf(tail)].map((group) => Number.parseInt(group, 16));
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = groups;
  // RFC 4291, 2.5.5.2: an IPv4 address mapped into IPv6.
  if (a + b + c + d + e === 0 && f === 0xffff) return `${g >> 8}.${g & 255}.${h >> 8}.${h & 255}`;
  return `${[a, b, c, d].map((group) => group.toString(16)).join(":")}::/64`;
}
