/** What `lmutil lmstat -a -i` prints of a FlexNet server in some state, written without licmond's own renderer. */
export interface FlexnetState {
  /** Of `127.0.0.1`, `127.0.0.2`, …; one that is up by default. */
  readonly members?: readonly ("up" | "down")[];
  readonly daemon?: "up" | "down";
  readonly features?: Readonly<Record<string, FeatureState>>;
  /** Lines that no rule knows. */
  readonly unknown?: readonly string[];
}

export interface FeatureState {
  readonly total: number;
  /** Seats in use, one user each. */
  readonly used: number;
  readonly queued?: number;
  /** `YYYY-MM-DD`; by default some hundred days ahead. */
  readonly expires?: string;
  /** Hours between the taking of the seats and the start of the test. */
  readonly heldHours?: number;
  /** Of the users, without their number. */
  readonly user?: string;
}

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const DAY_MS = 86_400_000;
/** Since when people hold what they hold: a seat is known again by its start, so it stays the same from poll to poll. */
const HELD_SINCE = Date.now();

export function flexnetSays({
  members = ["up"],
  daemon = "up",
  features = {},
  unknown = [],
}: FlexnetState): string {
  const now = new Date();
  // Addresses, so that no name has to be looked up.
  const hosts = members.map((_, index) => `127.0.0.${index + 1}`);
  const master = members.indexOf("up");
  const memberLine = (host: string, index: number) =>
    members[index] === "down"
      ? `${host}: Cannot connect to license server system. (-15,570:115 "Operation now in progress")`
      : `${host}: license server UP${index === master ? " (MASTER)" : ""} v11.18.2`;
  const blocks = Object.entries(features).map(([name, state]) =>
    daemon === "down"
      ? `Users of ${name}: Cannot get users of ${name}: No such feature exists. (-5,222)\n`
      : block(name, state, now),
  );
  return `lmutil - Copyright (c) 1989-2022 Flexera. All Rights Reserved.
Flexible License Manager status on ${DAYS[now.getUTCDay()]} ${date(now)}/${now.getUTCFullYear()} ${time(now)}

License server status: ${hosts.map((host) => `27000@${host}`).join(",")}
    License file(s) on 127.0.0.1: /opt/acme/license.dat:

${hosts.map(memberLine).join("\n")}

Vendor daemon status (on 127.0.0.1):

     acmed: ${daemon === "up" ? "UP v11.18.2" : "The desired vendor daemon is down. (-97,121)"}
Feature usage info:

${blocks.join("\n")}${unknown.map((line) => `${line}\n`).join("")}`;
}

function block(name: string, state: FeatureState, now: Date): string {
  const { total, used, queued = 0, heldHours = 0, user = "user" } = state;
  const expires = new Date(state.expires ?? now.getTime() + 400 * DAY_MS);
  const expiry = `${expires.getUTCDate()}-${MONTHS[expires.getUTCMonth()]}-${expires.getUTCFullYear()}`;
  const start = new Date(HELD_SINCE - heldHours * 3_600_000);
  const line = (index: number, tail: string) =>
    `    ${user}${index} ws${index} ws${index}:0 (v2.0) (127.0.0.1/27000 ${100 + index})${tail}`;
  const held = Array.from({ length: used }, (_, index) =>
    line(index + 1, `, start ${DAYS[start.getUTCDay()]} ${date(start)} ${time(start)}`),
  );
  const waiting = Array.from({ length: queued }, (_, index) => line(500 + index, " queued for 1 license"));
  return `Users of ${name}:  (${seats(total)} issued;  ${seats(used)} in use)

  "${name}" v2.0, vendor: acmed, expiry: ${expiry}
  floating license

${[...held, ...waiting].join("\n")}
`;
}

const seats = (count: number) => `Total of ${count} license${count === 1 ? "" : "s"}`;
const date = (at: Date) => `${at.getUTCMonth() + 1}/${at.getUTCDate()}`;
const time = (at: Date) => `${at.getUTCHours()}:${String(at.getUTCMinutes()).padStart(2, "0")}`;
