import {
  type CheckoutReading,
  type FeatureReading,
  PERMANENT,
  type Reading,
} from "../../src/domain/reading.ts";
import type { Manager } from "../../src/managers/manager.ts";
import { asPrinted, DAY, MINUTE } from "../../src/simulator/calendar.ts";
import { draws } from "../../src/simulator/random.ts";
import { FIRST_ISV_PORT, wholeReading } from "../../src/simulator/reading.ts";

/** A server by its size alone, for measurements. */
export interface ScaleOptions {
  readonly features: number;
  /** Checkouts of all features together, spread evenly. */
  readonly checkouts: number;
  /** Epoch ms of the report. */
  readonly instant: number;
  readonly zone: string;
  readonly seed?: number;
  /** Length of the text that the reading is to have, in bytes, up to one byte a checkout; names are made longer for it. */
  readonly bytes?: number;
  /** `port@host` of the one member. */
  readonly address?: string;
}

const ADDRESS = "27000@lic-scale";
const DAEMON = "scaled";
/** Checkouts per user: people work at several machines, as on real sites. */
const PER_USER = 3;

/** A reading of that size. Equal options give equal readings. */
export function scaleReading(manager: Manager, options: ScaleOptions): Reading {
  if (options.bytes === undefined) return plainReading(manager, options, 0);
  const bare = byteLength(manager, plainReading(manager, options, 0), options);
  if (options.checkouts === 0 || bare > options.bytes) {
    throw new RangeError(
      `${options.checkouts} checkouts take ${bare} bytes and cannot be made ${options.bytes} bytes long`,
    );
  }
  return plainReading(manager, options, Math.floor((options.bytes - bare) / options.checkouts));
}

/** What the manager's tool prints for {@link scaleReading}. */
export function scaleText(manager: Manager, options: ScaleOptions): string {
  return manager.render(scaleReading(manager, options), printOptions(options));
}

function plainReading(manager: Manager, options: ScaleOptions, padding: number): Reading {
  const { address, zone } = printOptions(options);
  const [portText = "", host = ""] = address.split("@");
  const flexnet = manager.name === "flexnet";
  const server = { host, port: Number(portText), status: "up", version: "v11.19.5", error: null } as const;
  return wholeReading({
    manager: manager.name,
    reportTime: asPrinted(zone, options.instant),
    toolVersion: flexnet ? null : "v14.2",
    members: [{ ...server, master: flexnet }],
    daemons: [
      {
        name: DAEMON,
        status: "up",
        version: "v11.19.5",
        error: null,
        totals: flexnet ? null : { checkouts: options.checkouts, denials: 0, removals: 0 },
        ...(!flexnet && { port: FIRST_ISV_PORT }),
      },
    ],
    features: Array.from({ length: options.features }, (_, index) =>
      scaleFeature(flexnet, options, index, padding),
    ),
  });
}

function scaleFeature(
  flexnet: boolean,
  options: ScaleOptions,
  index: number,
  padding: number,
): FeatureReading {
  const { features, checkouts, seed = 1 } = options;
  const first = Math.floor((checkouts * index) / features);
  const count = Math.floor((checkouts * (index + 1)) / features) - first;
  const total = Math.ceil(count * 1.25) + 10;
  const draw = draws(seed, "scale", index);
  const midnight = Math.floor(options.instant / DAY) * DAY;
  return {
    daemon: DAEMON,
    name: `feature_${String(index + 1).padStart(4, "0")}`,
    total,
    used: count,
    unlimited: false,
    ...(flexnet ? {} : { reserved: 0 }),
    error: null,
    pools: [
      {
        number: null,
        version: "v2026.09",
        vendorString: null,
        kind: flexnet ? "floating" : "unknown",
        total,
        used: count,
        unlimited: false,
        expiry: PERMANENT,
      },
    ],
    checkouts: Array.from({ length: count }, (_, at): CheckoutReading => {
      const number = first + at;
      const who = Math.floor(number / PER_USER) + 1;
      const host = `ws-${String(number + 1).padStart(6, "0")}${"x".repeat(padding)}`;
      // The same all day, and some of them equal, as on real sites.
      const startedAt = midnight - draw.integer(0, DAY / MINUTE) * MINUTE;
      return {
        user: `user${String(who).padStart(5, "0")}`,
        host,
        display: flexnet ? `:${draw.integer(0, 9)}` : null,
        qualifier: null,
        version: "v2026.09",
        count: 1,
        handle: flexnet ? String(number + 101) : (number + 0x1000).toString(16),
        pid: flexnet ? draw.integer(1000, 4_000_000) : null,
        startedAt: asPrinted(options.zone, startedAt),
        lingerSeconds: null,
        borrowed: false,
        pool: 0,
      };
    }),
    reservations: [],
    queue: [],
    consistency: "ok",
    cut: false,
  };
}

function printOptions({ address = ADDRESS, zone }: ScaleOptions) {
  return { address, zone };
}

function byteLength(manager: Manager, reading: Reading, options: ScaleOptions): number {
  return Buffer.byteLength(manager.render(reading, printOptions(options)));
}
