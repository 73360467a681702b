import { isIP } from "node:net";

/** An address as eight groups of 16 bits; IPv4 as the mapped address `::ffff:a.b.c.d` (RFC 4291 2.5.5.2). */
export type Ip = readonly number[];

export interface Network {
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
export function clientKey(ip: Ip): string {
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
