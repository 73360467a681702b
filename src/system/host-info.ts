import {
  arch,
  availableParallelism,
  cpus,
  hostname,
  type NetworkInterfaceInfo,
  networkInterfaces as osInterfaces,
  release,
  totalmem,
  type,
} from "node:os";
import { type ReadFile, readSystemFile } from "./host-metrics.ts";

/** Maximum time to wait for timedatectl, which answers within milliseconds unless D-Bus hangs. */
const TIMEOUT_MS = 5_000;

/**
 * Reports whether a time service keeps the clock in sync, according to systemd (`ProtectClock=` forbids
 * `adjtimex`). False without systemd.
 */
export async function isClockSynchronised(path: string | undefined): Promise<boolean> {
  const program = Bun.which("timedatectl", { PATH: path ?? "" });
  if (program === null) return false;
  try {
    const child = Bun.spawn([program, "show", "--property=NTPSynchronized", "--value"], {
      stdin: "ignore",
      stderr: "ignore",
      timeout: TIMEOUT_MS,
      killSignal: "SIGKILL",
    });
    return (await new Response(child.stdout).text()).trim() === "yes";
  } catch {
    return false;
  }
}

export type HostInfo = ReturnType<typeof hostInfo>;

/** Returns facts that do not change while licmond runs. */
export function hostInfo(readFile: ReadFile = readSystemFile) {
  // In a sandbox without /proc these calls throw.
  const processors = attempt(cpus) ?? [];
  const model = processors[0]?.model.replace(/\s+/g, " ").trim() ?? "";
  return {
    hostname: hostname(),
    os: osName(readFile("/etc/os-release") ?? readFile("/usr/lib/os-release")) ?? `${type()} ${release()}`,
    kernel: release(),
    arch: arch() as string,
    // Many virtual and ARM machines have no CPU name.
    cpuModel: model === "" || model.toLowerCase() === "unknown" ? null : model,
    cpuCount: Math.max(1, processors.length || (attempt(availableParallelism) ?? 1)),
    memoryBytes: totalmem(),
  };
}

/** Returns `PRETTY_NAME` of an os-release(5) file; null if missing. */
export function osName(osRelease: string | null): string | null {
  const form = /^PRETTY_NAME=(?:"((?:[^"\\\n]|\\.)*)"|'([^'\n]*)'|(\S+))\s*$/m;
  const [, double, single, bare] = form.exec(osRelease ?? "") ?? [];
  return (double?.replace(/\\(.)/g, "$1") ?? single ?? bare) || null;
}

export type NetworkInterface = ReturnType<typeof networkInterfaces>[number];

type Address = Pick<NetworkInterfaceInfo, "address" | "cidr"> & { readonly family: string };

/** Returns all interfaces of the host by name, including those without an address. */
export function networkInterfaces(
  readFile: ReadFile = readSystemFile,
  addressesOf: () => Readonly<Record<string, readonly Address[] | undefined>> = osInterfaces,
) {
  const counters = parseNetDev(readFile("/proc/net/dev") ?? "");
  // Without AF_NETLINK in RestrictAddressFamilies= the addresses are unknown.
  const addresses = attempt(addressesOf) ?? {};
  const names = new Set([...counters.keys(), ...Object.keys(addresses)]);
  return [...names].sort().map((name) => ({
    name,
    addresses: (addresses[name] ?? []).map(({ address, family, cidr }) => ({
      address,
      family: family === "IPv6" ? ("IPv6" as const) : ("IPv4" as const),
      prefixLength: cidr === null ? null : Number(cidr.split("/")[1]),
    })),
    /** Number of bytes since the interface came up; null if unknown. */
    receivedBytes: counters.get(name)?.received ?? null,
    sentBytes: counters.get(name)?.sent ?? null,
  }));
}

/**
 * Parses /proc/net/dev, `eth0: 735 16 0 0 0 0 0 0 914 8 …`: the first number counts received bytes, the
 * ninth sent bytes.
 */
export function parseNetDev(text: string): Map<string, { received: number; sent: number }> {
  const counters = new Map<string, { received: number; sent: number }>();
  for (const line of text.split("\n")) {
    const found = /^\s*(\S+?):\s*(\d+)(?:\s+\d+){7}\s+(\d+)\s/.exec(line);
    if (found === null) continue;
    counters.set(found[1] ?? "", { received: Number(found[2]), sent: Number(found[3]) });
  }
  return counters;
}

function attempt<T>(ask: () => T): T | null {
  try {
    return ask();
  } catch {
    return null;
  }
}
