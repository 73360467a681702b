/** Text in the shape of `lmutil lmstat -a`, written without licmond's own renderer. */
export interface Holder {
  readonly user: string;
  readonly host: string;
  /** By its place in the list when absent. */
  readonly handle?: number;
  /** When it was taken; the same for all when absent. */
  readonly since?: Date;
}

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
/** Since when people hold what they hold: a seat is known again by its start, so it stays the same from poll to poll. */
const HELD_SINCE = new Date();

/** A FlexNet server `lic1` with the daemon `acmed`; each feature with the people who hold one seat each. */
export function lmstat(
  features: Readonly<Record<string, { total: number; holders: readonly Holder[] }>>,
): string {
  const now = new Date();
  const start = (at: Date) => `${weekday(at)} ${date(at)} ${clock(at)}`;
  const expiry = `31-${MONTHS[11]}-${now.getUTCFullYear() + 1}`;
  const blocks = Object.entries(features).map(([name, { total, holders }]) => {
    const seats = (count: number) => `Total of ${count} license${count === 1 ? "" : "s"}`;
    const lines = holders.map(
      ({ user, host, handle, since }, index) =>
        `    ${user} ${host} ${host}:0 (v2.0) (lic1/27000 ${handle ?? 101 + index}), start ${start(since ?? HELD_SINCE)}`,
    );
    const pool =
      holders.length === 0
        ? ""
        : `\n  "${name}" v2.0, vendor: acmed, expiry: ${expiry}\n  floating license\n\n${lines.join("\n")}\n`;
    return `Users of ${name}:  (${seats(total)} issued;  ${seats(holders.length)} in use)\n${pool}`;
  });
  return `lmutil - Copyright (c) 1989-2022 Flexera. All Rights Reserved.
Flexible License Manager status on ${weekday(now)} ${date(now)}/${now.getUTCFullYear()} ${clock(now)}

License server status: 27000@lic1
    License file(s) on lic1: /opt/acme/license.dat:

lic1: license server UP (MASTER) v11.18.2

Vendor daemon status (on lic1):

     acmed: UP v11.18.2
Feature usage info:

${blocks.join("\n")}
`;
}

const weekday = (at: Date) => DAYS[at.getUTCDay()];
const date = (at: Date) => `${at.getUTCMonth() + 1}/${at.getUTCDate()}`;
const clock = (at: Date) => `${at.getUTCHours()}:${String(at.getUTCMinutes()).padStart(2, "0")}`;

/** What lmstat prints when nothing listens at the address. */
export const REFUSED = `lmutil - Copyright (c) 1989-2022 Flexera. All Rights Reserved.
Flexible License Manager status on Mon 1/5/2026 09:30

Error getting status: Cannot connect to license server system. (-15,570:111 "Connection refused")
`;
