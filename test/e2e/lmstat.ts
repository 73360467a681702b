/**
 * State of a FlexNet server. Tests print it like `lmutil lmstat -a -i` does, without licmond's own
 * renderer.
 */
export interface FlexnetState {
  /** Hosts of the servers. Default: `127.0.0.1`, `127.0.0.2`, …, which need no name resolution. */
  readonly hosts?: readonly string[];
  /** Status of each host. Default: one host that is up. */
  readonly members?: readonly ("up" | "down")[];
  readonly daemon?: "up" | "down";
  readonly features?: Readonly<Record<string, FeatureState>>;
  readonly unknown?: readonly string[];
}

export interface FeatureState {
  readonly total: number;
  /** Number of used seats, one per user. Default: 0. */
  readonly used?: number;
  /** Holders of the seats; replaces `used`. */
  readonly holders?: readonly Holder[];
  readonly queued?: number;
  /** Expiry as `YYYY-MM-DD`. Default: some hundred days ahead. */
  readonly expires?: string;
  /** Hours between the checkouts and the start of the test. */
  readonly heldHours?: number;
  readonly user?: string;
}

export interface Holder {
  readonly user: string;
  readonly host: string;
  /**
   * Handle of the checkout. Default: a handle that stays the same while the seat is held, as on a real
   * server.
   */
  readonly handle?: number;
  /** Time of the checkout. Default: the same time for all seats. */
  readonly since?: Date;
}

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const DAY_MS = 86_400_000;
/** Start of all seats. It is equal in all polls. */
const HELD_SINCE = Date.now();
/** Handles by feature, user, host and the number of the user's seat. */
const handles = new Map<string, number>();

/** Prints a FlexNet server `lic1` with the daemon `acmed`, and features with their holders of one seat each. */
export function lmstat(features: Readonly<Record<string, FeatureState>>): string {
  return flexnetSays({ hosts: ["lic1"], features });
}

export function flexnetSays(state: FlexnetState): string {
  const { members = ["up"], daemon = "up", features = {}, unknown = [] } = state;
  const now = new Date();
  const hosts = state.hosts ?? members.map((_, index) => `127.0.0.${index + 1}`);
  const master = members.indexOf("up");
  const memberLine = (host: string, index: number) =>
    members[index] === "down"
      ? `${host}: Cannot connect to license server system. (-15,570:115 "Operation now in progress")`
      : `${host}: license server UP${index === master ? " (MASTER)" : ""} v11.18.2`;
  const blocks = Object.entries(features).map(([name, state]) =>
    daemon === "down"
      ? `Users of ${name}: Cannot get users of ${name}: No such feature exists. (-5,222)\n`
      : block(name, state, hosts[0] ?? "", now),
  );
  return `lmutil - Copyright (c) 1989-2022 Flexera. All Rights Reserved.
Flexible License Manager status on ${DAYS[now.getUTCDay()]} ${date(now)}/${now.getUTCFullYear()} ${time(now)}

License server status: ${hosts.map((host) => `27000@${host}`).join(",")}
    License file(s) on ${hosts[0]}: /opt/acme/license.dat:

${hosts.map(memberLine).join("\n")}

Vendor daemon status (on ${hosts[0]}):

     acmed: ${daemon === "up" ? "UP v11.18.2" : "The desired vendor daemon is down. (-97,121)"}
Feature usage info:

${blocks.join("\n")}${unknown.map((line) => `${line}\n`).join("")}`;
}

function block(name: string, state: FeatureState, server: string, now: Date): string {
  const { total, used = 0, queued = 0, heldHours = 0, user = "user" } = state;
  const expires = new Date(state.expires ?? now.getTime() + 400 * DAY_MS);
  const expiry = `${expires.getUTCDate()}-${MONTHS[expires.getUTCMonth()]}-${expires.getUTCFullYear()}`;
  const since = new Date(HELD_SINCE - heldHours * 3_600_000);
  const somebody = (number: number): Holder => ({ user: `${user}${number}`, host: `ws${number}` });
  const holders = state.holders ?? Array.from({ length: used }, (_, index) => somebody(index + 1));
  const seen = new Map<string, number>();
  const handleOf = ({ user, host, handle }: Holder) => {
    const key = `${name} ${user} ${host}`;
    const place = (seen.get(key) ?? 0) + 1;
    seen.set(key, place);
    return handle ?? handles.getOrInsertComputed(`${key} ${place}`, () => 101 + handles.size);
  };
  const line = (holder: Holder, tail: string) =>
    `    ${holder.user} ${holder.host} ${holder.host}:0 (v2.0) (${server}/27000 ${handleOf(holder)})${tail}`;
  const held = holders.map((holder) => {
    const start = holder.since ?? since;
    return line(holder, `, start ${DAYS[start.getUTCDay()]} ${date(start)} ${time(start)}`);
  });
  const waiting = Array.from({ length: queued }, (_, index) =>
    line(somebody(500 + index), " queued for 1 license"),
  );
  return `Users of ${name}:  (${seats(total)} issued;  ${seats(holders.length)} in use)

  "${name}" v2.0, vendor: acmed, expiry: ${expiry}
  floating license

${[...held, ...waiting].join("\n")}
`;
}

const seats = (count: number) => `Total of ${count} license${count === 1 ? "" : "s"}`;
const date = (at: Date) => `${at.getUTCMonth() + 1}/${at.getUTCDate()}`;
const time = (at: Date) => `${at.getUTCHours()}:${String(at.getUTCMinutes()).padStart(2, "0")}`;

export const REFUSED = `lmutil - Copyright (c) 1989-2022 Flexera. All Rights Reserved.
Flexible License Manager status on Mon 1/5/2026 09:30

Error getting status: Cannot connect to license server system. (-15,570:111 "Connection refused")
`;
