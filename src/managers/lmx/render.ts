import type { CheckoutReading, FeatureReading, PoolReading, Reading } from "../../domain/reading.ts";
import { HOUR_MS } from "../../domain/time/clock.ts";
import { dateTime } from "../../domain/time/zone.ts";
import type { RenderOptions } from "../manager.ts";
import { UNLIMITED } from "./lines.ts";
import { nameOf, stepName } from "./step-name.ts";

const RULE = "-".repeat(40);
/** Arbitrary duration of a borrowed license; readings do not keep its end. */
const BORROW_HOURS = 24;

/**
 * Prints what lmxendutil prints for this reading; parsing it returns the reading. The format cannot express report
 * times, seconds, starts that are unknown or in a repeated hour, displays other than IP addresses, versions, handles
 * and PIDs of holders, reservations, queues, unknown counts, vendors without a feature, and errors of a vendor or
 * feature. Names must not begin or end with a blank or contain a line end; hosts must not contain `@`. `step` prints
 * only the member with this name.
 */
export function renderLmx(reading: Reading, { zone, step }: RenderOptions): string {
  const { toolVersion, features, errors } = reading;
  const lines = [
    `LM-X End-user Utility ${toolVersion ?? "v5.1"}`,
    "Copyright (C) 2002-2022 X-Formation. All rights reserved.",
    "",
  ];
  const { length } = reading.members;
  const asked = reading.members.filter((member) => step === undefined || stepName(member, length) === step);
  // The features go to the last member that is up: a last server without features would look like a cut text.
  const holder = asked.findLast(({ status }) => status === "up");
  for (const member of asked) {
    lines.push("+".repeat(40), `LM-X License Server on ${nameOf(member)}:`, "");
    if (member.status !== "up") lines.push(member.error?.message ?? UNREACHABLE, "");
    else
      lines.push(`Server version: ${member.version ?? "v5.1"} Uptime: 1 day(s) 0 hour(s) 0 min(s) 0 sec(s)`);
    if (member === holder) for (const feature of features) lines.push(...printFeature(feature, zone));
  }
  for (const { message } of errors)
    if (!reading.members.some(({ error }) => error?.message === message))
      lines.push("+".repeat(40), "LM-X license server(s):", RULE, message);
  return `${lines.join("\n")}\n`;
}

const UNREACHABLE = "XF Error: Unable to connect to license server!";

function printFeature(feature: FeatureReading, zone: string): string[] {
  return feature.pools.flatMap((pool, index) => {
    const { version, kind, expiry, total, used, unlimited } = pool;
    const held = feature.checkouts.filter((checkout) => (checkout.pool ?? 0) === index);
    const colon = held.length > 0 ? ":" : "";
    return [
      RULE,
      `Feature: ${feature.name} Version: ${version ?? "1.0"} Vendor: ${feature.daemon}`,
      ...(expiry.permanent || expiry.expiresOn !== null
        ? [`Start date: NONE Expire date: ${expiry.expiresOn ?? "NONE"}`]
        : []),
      `Key type: ${keyTypeOf(kind)} License sharing: CUSTOM VIRTUAL`,
      "",
      `${used ?? 0} of ${unlimited ? UNLIMITED : (total ?? 0)} license(s) used${colon}`,
      ...held.flatMap((checkout) => printHolder(checkout, zone)),
    ];
  });
}

function keyTypeOf(kind: PoolReading["kind"]): string {
  return kind === "token" ? "TOKEN" : "EXCLUSIVE";
}

function printHolder(held: CheckoutReading, zone: string): string[] {
  const { user, host, display, qualifier, startedAt, borrowed } = held;
  const times: string[] = [];
  if (startedAt !== null) {
    const time = dateTime(zone, startedAt);
    times.push(`Login time: ${time}`, `Checkout time: ${time}`);
  }
  if (borrowed)
    times.push(`Borrow expire time: ${dateTime(zone, (startedAt ?? 0) + BORROW_HOURS * HOUR_MS)}`);
  const where = `${host === null ? "" : `@${host}`}${display === null ? "" : ` [${display}]`}`;
  return [
    "",
    `${held.count} license(s) used by ${user ?? ""}${where}`,
    `${times.join("   ")} `,
    ...(qualifier === null ? [] : [`Shared on custom string: ${qualifier} `]),
  ];
}
