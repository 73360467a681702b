import { printExpiry } from "../../domain/expiry.ts";
import type {
  CheckoutReading,
  FeatureReading,
  PoolReading,
  QueueReading,
  ReservationReading,
} from "../../domain/reading.ts";
import { isTableOnly } from "./render-table.ts";
import { printStart } from "./render-time.ts";

export interface BlockContext {
  readonly zone: string;
  /** `host/port` of the member that serves. */
  readonly server: string;
}

/** One feature's block: its header, what stands under no pool, and each pool with what stands under it. */
export function renderBlock(feature: FeatureReading, context: BlockContext): string[] {
  const lines = [headerOf(feature), ""];
  lines.push(...heldOf(feature, null, context));
  for (const [index, pool] of feature.pools.entries()) {
    if (isTableOnly(feature, index)) continue;
    lines.push("", ...poolLines(feature, pool), ...heldOf(feature, index, context));
  }
  return lines;
}

function headerOf(feature: FeatureReading): string {
  if (feature.error !== null) {
    const { message } = feature.error;
    return message.startsWith("Error: ")
      ? `Users of ${feature.name}:  (${message})`
      : `Users of ${feature.name}: ${message}`;
  }
  if (feature.unlimited) return `Users of ${feature.name}:  (Uncounted, node-locked)`;
  const issued = seats(feature.total ?? 0);
  return `Users of ${feature.name}:  (Total of ${issued} issued;  Total of ${seats(feature.used ?? 0)} in use)`;
}

function poolLines(feature: FeatureReading, pool: PoolReading): string[] {
  const version = pool.version === null ? "" : ` ${pool.version}`;
  const expiry = printExpiry(pool.expiry);
  const expires = expiry === null ? "" : `, expiry: ${expiry === "permanent" ? PERMANENT : expiry}`;
  const lines = [`"${feature.name}"${version}, vendor: ${feature.daemon}${expires}`];
  if (pool.vendorString !== null) lines.push(`  vendor_string: ${pool.vendorString}`);
  const kind = KINDS[pool.kind];
  if (kind !== undefined) lines.push(`  ${kind}`);
  return [...lines, ""];
}

const PERMANENT = "permanent(no expiration date)";

const KINDS: Readonly<Partial<Record<PoolReading["kind"], string>>> = {
  floating: "floating license",
  nodelocked: 'nodelocked license, locked to "ID=20481"',
  uncounted: "uncounted nodelocked license locked to NOTHING (hostid=ANY)",
};

function heldOf(feature: FeatureReading, pool: number | null, context: BlockContext): string[] {
  const lines = [
    ...feature.reservations.filter((held) => held.pool === pool).map((held) => reservation(held, context)),
    ...feature.checkouts.filter((held) => held.pool === pool).map((held) => checkout(held, context)),
    ...feature.queue.filter((held) => held.pool === pool).map((held) => queued(held, context)),
  ];
  return lines.length === 0 ? [] : [...lines, ""];
}

function reservation({ count, type, name }: ReservationReading, { server }: BlockContext): string {
  const owner = type === "other" ? name : `${type.toUpperCase()} ${name}`;
  return `\t${count} RESERVATION${count === 1 ? "" : "s"} for ${owner} (${server})`;
}

function checkout(held: CheckoutReading, context: BlockContext): string {
  const count = held.count === 1 ? "" : `, ${held.count} licenses`;
  const linger = held.lingerSeconds === null ? "" : `  (linger: ${held.lingerSeconds})`;
  const pid = held.pid === null ? "" : `, PID: ${held.pid}`;
  return `    ${holder(held, context)}, start ${printStart(held.startedAt, context.zone)}${count}${linger}${pid}`;
}

function queued(held: QueueReading, context: BlockContext): string {
  return `    ${holder(held, context)} queued for ${seats(held.count)}`;
}

function holder(held: CheckoutReading | QueueReading, { server }: BlockContext): string {
  const identity = [held.user, held.host, held.display, held.qualifier].filter((part) => part !== null);
  const version = held.version === null ? "" : ` (${held.version})`;
  const handle = held.handle === null ? "" : ` ${held.handle}`;
  return `${identity.join(" ")}${version} (${server}${handle})`;
}

function seats(count: number): string {
  return `${count} license${count === 1 ? "" : "s"}`;
}
