import type { DaemonEvent, DebugLogEvent, LicenseEvent } from "./debug-log.ts";

/** Times are epoch ms. */
export interface PairedSession
  extends Pick<LicenseEvent, "daemon" | "feature" | "host" | "data" | "version" | "handle" | "count"> {
  readonly user: string;
  /** Index among the checkouts with the same names in the same second. */
  readonly ordinal: number;
  /** Index among the check-ins that returned these seats. */
  readonly part: number;
  readonly startedAt: number;
  readonly endedAt: number;
  /** `unobserved`: the log has no check-in; `endedAt` is the last time known. */
  readonly endReason: "checkin" | "server_restart" | "unobserved";
}

interface OpenOut {
  readonly event: LicenseEvent;
  readonly ordinal: number;
  left: number;
  parts: number;
}

/**
 * Pairs OUT and IN events by handle, or by daemon, feature, user, host and checkout data, oldest first. An IN
 * may end several OUTs or a part of one. A daemon that exits or restarts ends its checkouts.
 */
export function createPairing(onSession: (session: PairedSession) => void) {
  const open = new Map<string, Map<string, OpenOut[]>>();
  /** Seats ended by a daemon's exit, by daemon; the daemon may still print their check-ins. */
  const takenBack = new Map<string, Map<string, number>>();
  const sameSecond = new Map<string, number>();
  let second = Number.NaN;
  const counts = {
    /** Check-ins without a checkout: the checkout was before the start of the log. */
    orphanIns: 0,
    openOuts: 0,
    ambiguous: 0,
  };

  function end(out: OpenOut, count: number, at: number, reason: PairedSession["endReason"]): void {
    const { daemon, feature, user, host, data, version, handle } = out.event;
    const startedAt = out.event.at;
    // Spelled out: object spread cost a second per million sessions.
    onSession({
      daemon,
      feature,
      user: user ?? "",
      host,
      data,
      version,
      handle,
      count,
      ordinal: out.ordinal,
      part: out.parts++,
      startedAt,
      endedAt: Math.max(at, startedAt),
      endReason: reason,
    });
  }

  function endAll(seats: Map<string, OpenOut[]>, at: number, reason: PairedSession["endReason"]): void {
    for (const list of seats.values()) for (const out of list) end(out, out.left, at, reason);
    seats.clear();
  }

  function ordinalOf({ at, daemon }: LicenseEvent, key: string): number {
    if (at !== second) sameSecond.clear();
    second = at;
    const what = `${daemon}\0${key}`;
    const ordinal = sameSecond.get(what) ?? 0;
    sameSecond.set(what, ordinal + 1);
    return ordinal;
  }

  function checkout(event: LicenseEvent): void {
    const key = keyOf(event);
    const seats = open.getOrInsertComputed(event.daemon, () => new Map());
    const list = seats.getOrInsertComputed(key, () => []);
    list.push({ event, ordinal: ordinalOf(event, key), left: event.count, parts: 0 });
  }

  function checkin(event: LicenseEvent): void {
    const key = keyOf(event);
    const list = open.get(event.daemon)?.get(key) ?? [];
    const reason = event.reason?.includes("SHUTDOWN") === true ? "server_restart" : "checkin";
    let left = event.count;
    for (let [first] = list; left > 0 && first !== undefined; [first] = list) {
      const chosen = chooseOut(list, event, left) ?? first;
      if (event.handle === null && list.length > 1) counts.ambiguous++;
      const taken = Math.min(chosen.left, left);
      end(chosen, taken, event.at, reason);
      chosen.left -= taken;
      left -= taken;
      if (chosen.left === 0) list.splice(list.indexOf(chosen), 1);
    }
    if (list.length === 0) open.get(event.daemon)?.delete(key);
    // A linger prints no count or a different one; the surplus is not another seat.
    if (left < event.count) return;
    if (reason !== "server_restart" || !wasTakenBack(event, key)) counts.orphanIns++;
  }

  /**
   * Reports whether the seats were already ended: daemons print `(SHUTDOWN)` check-ins after the line of their exit.
   */
  function wasTakenBack({ daemon, count }: LicenseEvent, key: string): boolean {
    const seats = takenBack.get(daemon);
    const left = seats?.get(key) ?? 0;
    if (left > 0) seats?.set(key, left - count);
    return left > 0;
  }

  function daemonEvent({ daemon, at }: DaemonEvent): void {
    for (const [name, seats] of open) {
      if ((daemon !== null && daemon !== name) || seats.size === 0) continue;
      const held = [...seats].map(
        ([key, list]) => [key, list.reduce((sum, { left }) => sum + left, 0)] as const,
      );
      takenBack.set(name, new Map(held));
      endAll(seats, at, "server_restart");
    }
  }

  return {
    take(event: DebugLogEvent): void {
      if (!("feature" in event)) daemonEvent(event);
      else if (event.kind === "IN") checkin(event);
      else if (event.kind === "OUT") checkout(event);
    },
    /** Ends all open checkouts as unobserved at `lastAt`, because the following lines are missing. */
    gap(lastAt: number): void {
      for (const seats of open.values()) {
        for (const list of seats.values()) counts.openOuts += list.length;
        endAll(seats, lastAt, "unobserved");
      }
    },
    counts,
  };
}

function chooseOut(list: readonly OpenOut[], { handle }: LicenseEvent, left: number): OpenOut | undefined {
  if (handle !== null) return list.find(({ event }) => event.handle === handle);
  return list[0]?.left === left ? list[0] : list.find((out) => out.left === left);
}

function keyOf({ feature, user, host, data }: LicenseEvent): string {
  return `${feature}\0${user ?? ""}\0${host?.toLowerCase() ?? ""}\0${data ?? ""}`;
}
