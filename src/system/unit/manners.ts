import type { Confinement } from "./confinement.ts";

/** Lines that harm the daemon as a whole, whatever files it needs. */
export interface Manner {
  /** As reports name it: `unit`, `http`. */
  readonly what: string;
  /** One sentence without its full stop. */
  readonly message: string;
  /** As an obstacle's. */
  readonly dropIn: readonly string[];
  /** It works with it, though worse. */
  readonly isBearable: boolean;
}

/** `port`: on which it is to listen. */
export function mannersOf(unit: Confinement, port: number): Manner[] {
  const found: Manner[] = [];
  const tell = (what: string, message: string, dropIn: readonly string[], isBearable = false) =>
    void found.push({ what, message, dropIn, isBearable });
  if (unit.memoryDenyWriteExecute)
    tell(
      "unit",
      "MemoryDenyWriteExecute=yes takes from the runtime what makes it fast: it works many times slower",
      ["MemoryDenyWriteExecute=no"],
      true,
    );
  if (unit.procSubset === "pid")
    tell(
      "unit",
      "ProcSubset=pid hides /proc/stat, /proc/meminfo and /proc/net: the host's metrics are unknown",
      ["ProcSubset=all"],
      true,
    );
  if (unit.privateNetwork)
    tell("unit", "PrivateNetwork=yes keeps the service from license servers and clients alike", [
      "PrivateNetwork=no",
    ]);
  if (unit.deniesAllAddresses)
    tell(
      "unit",
      "IPAddressDeny=any keeps the service from license servers and clients alike: IPAddressAllow= must name their networks",
      [],
    );
  if (port > 0 && port < 1024 && !unit.mayBindLowPorts)
    tell("http", `the service may not listen on port ${port}, which is below 1024`, [
      "AmbientCapabilities=CAP_NET_BIND_SERVICE",
      "CapabilityBoundingSet=CAP_NET_BIND_SERVICE",
    ]);
  return found;
}
