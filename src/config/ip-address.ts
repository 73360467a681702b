/**
 * Returns the eight groups of an IP address without its zone (`%eth0`), IPv4 as mapped into IPv6 (RFC 4291,
 * 2.5.5.2); null if invalid. `node:net` would make the daemon 0.5 MB larger.
 */
export function parseIp(text: string): readonly number[] | null {
  const bytes = text.split(".").map(Number);
  if (bytes.length === 4 && bytes.every((byte) => byte >= 0 && byte <= 255) && bytes.join(".") === text) {
    const [a = 0, b = 0, c = 0, d = 0] = bytes;
    return [0, 0, 0, 0, 0, 0xffff, (a << 8) | b, (c << 8) | d];
  }
  const [address = ""] = text.split("%", 1);
  const url = /^[\da-f:.]+$/i.test(address) && URL.parse(`http://[${address}]`);
  if (!url) return null;
  const [head = "", tail = ""] = url.hostname.slice(1, -1).split("::");
  const groupsOf = (part: string) => part.split(":").filter(Boolean);
  const zeros = Array<string>(8 - groupsOf(head).length - groupsOf(tail).length).fill("0");
  return [...groupsOf(head), ...zeros, ...groupsOf(tail)].map((group) => Number.parseInt(group, 16));
}

/** Parses an address or `address/bits`; null if invalid. */
export function parseNetwork(text: string): IpNetwork | null {
  const [address = "", length, ...rest] = text.split("/");
  const groups = address.includes("%") ? null : parseIp(address);
  const all = address.includes(":") ? 128 : 32;
  const bits = length === undefined ? all : /^\d{1,3}$/.test(length) ? Number(length) : Number.NaN;
  return groups !== null && bits <= all && rest.length === 0 ? { groups, bits: bits + 128 - all } : null;
}

export interface IpNetwork {
  readonly groups: readonly number[];
  /** Length of the prefix in bits, 0–128. */
  readonly bits: number;
}

export function isWithin(address: readonly number[], { groups, bits }: IpNetwork): boolean {
  return groups.every((group, index) => {
    const ignored = Math.min(Math.max(16 * (index + 1) - bits, 0), 16);
    return (group ^ (address[index] ?? 0)) >> ignored === 0;
  });
}
