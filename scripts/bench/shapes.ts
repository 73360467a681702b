import { type FeatureReading, PERMANENT, type Reading } from "../../src/domain/reading.ts";
import { DAY_MS, MINUTE_MS } from "../../src/domain/time/clock.ts";
import { flexnet } from "../../src/managers/flexnet/index.ts";
import { lmx } from "../../src/managers/lmx/index.ts";
import { rms } from "../../src/managers/rms/index.ts";
import { asPrinted } from "../../src/managers/simulated-tool.ts";
import { draws } from "../../src/simulator/random.ts";
import { wholeReading } from "../../src/simulator/site.ts";
import { checkout, feature, pool } from "../../test/domain/make.ts";

/** Time of the simulated reports. It is fixed, so that every run has equal texts. */
export const INSTANT = Date.UTC(2026, 0, 5, 9, 30);

/** Size of a simulated server. */
export interface Shape {
  readonly features: number;
  /** Number of checkouts of all features together, spread evenly. */
  readonly checkouts: number;
  /**
   * Length of the text in bytes. Host names are padded to reach it; the text may be shorter by less than
   * one byte per checkout.
   */
  readonly bytes?: number;
  /** `port@host` of the only member. */
  readonly address?: string;
}

const ZONE = "UTC";
const DAEMON = "scaled";
const VERSION = "v11.19.5";
/** Number of checkouts per user, because people use several features on one machine. */
const PER_USER = 3;

/** Returns the output of `lmstat -a -i` for one server. Equal shapes give equal texts. */
export function lmstatText(shape: Shape): string {
  const { bytes, checkouts, address = "27000@lic-scale" } = shape;
  const text = (padding: number) =>
    flexnet.render(readingOf(shape, address, padding), { address, zone: ZONE });
  const bare = text(0);
  if (bytes === undefined) return bare;
  const left = bytes - Buffer.byteLength(bare);
  if (checkouts === 0 || left < 0)
    throw new RangeError(`${checkouts} checkouts cannot be made ${bytes} bytes long: ${left} are left`);
  return text(Math.floor(left / checkouts));
}

/** Returns the output of a large site: 57,000 checkouts in 10 MB, twenty holders per feature. */
export function largeOutput(megabytes: 10 | 20): Uint8Array {
  const checkouts = 5_700 * megabytes;
  const shape = { features: checkouts / 20, checkouts, bytes: megabytes * 1_000_000 };
  return new TextEncoder().encode(lmstatText(shape));
}

function readingOf(shape: Shape, address: string, padding: number): Reading {
  const [port = "", host = ""] = address.split("@");
  const up = { status: "up", version: VERSION, error: null } as const;
  return wholeReading({
    manager: "flexnet",
    reportTime: asPrinted(ZONE, INSTANT),
    toolVersion: null,
    members: [{ ...up, host, port: Number(port), master: true }],
    daemons: [{ ...up, name: DAEMON, totals: null }],
    features: Array.from({ length: shape.features }, (_, index) => featureOf(shape, index, padding)),
  });
}

function featureOf({ features, checkouts: all }: Shape, index: number, padding: number): FeatureReading {
  const first = Math.floor((all * index) / features);
  const used = Math.floor((all * (index + 1)) / features) - first;
  const total = Math.ceil(used * 1.25) + 10;
  const users = Math.ceil(all / PER_USER);
  const draw = draws(1, "scale", index);
  const midnight = Math.floor(INSTANT / DAY_MS) * DAY_MS;
  const checkouts = Array.from({ length: used }, (_, at) => {
    const number = first + at;
    const who = (number % users) + 1;
    // Start times are the same all day, and some are equal, as on real sites.
    const startedAt = midnight - draw.integer(0, DAY_MS / MINUTE_MS) * MINUTE_MS;
    return checkout({
      user: `user${String(who).padStart(5, "0")}`,
      host: `ws-${String(who).padStart(6, "0")}${"x".repeat(padding)}`,
      display: `:${draw.integer(0, 9)}`,
      version: "v2026.09",
      handle: String(number + 101),
      pid: draw.integer(1000, 4_000_000),
      startedAt: asPrinted(ZONE, startedAt),
      pool: 0,
    });
  });
  const name = `feature_${String(index + 1).padStart(4, "0")}`;
  const pools = [pool({ version: "v2026.09", total, used, expiry: PERMANENT })];
  return feature({ daemon: DAEMON, name, total, used, pools, checkouts });
}

/** Number of bytes per holder, including the holder's share of the feature's own lines. */
const HOLDER_BYTES = { lmx: 128, rms: 422 };

/** Returns output of lmxendutil or lsmon of about this size, with twenty holders per feature. */
export function largeHolderBlocks(manager: "lmx" | "rms", megabytes: number): Uint8Array {
  const holders = Math.floor((megabytes * 1_000_000) / HOLDER_BYTES[manager]);
  const features = Math.ceil(holders / 20);
  const version = manager === "lmx" ? "v5.1" : null;
  const reading = wholeReading({
    manager,
    reportTime: null,
    toolVersion: null,
    members: [{ host: "lic-scale", port: 6200, status: "up", master: false, version, error: null }],
    daemons: [],
    features: Array.from({ length: features }, (_, index) => {
      const one = featureOf({ features, checkouts: holders }, index, 0);
      // Replace what only lmstat prints: X displays and borrowed seats.
      const checkouts = one.checkouts.map((held) => ({ ...held, display: "192.0.2.7", borrowed: false }));
      return { ...one, checkouts };
    }),
  });
  const { render } = manager === "lmx" ? lmx : rms;
  return new TextEncoder().encode(render(reading, { address: "lic-scale", zone: ZONE }));
}
