import type { CheckoutReading, FeatureReading } from "../../src/domain/reading.ts";
import { endOfDay } from "../../src/domain/time/zone.ts";
import { dsls } from "../../src/managers/dsls/index.ts";
import { draws } from "../../src/simulator/random.ts";
import { wholeReading } from "../../src/simulator/site.ts";
import { INSTANT } from "./shapes.ts";

const PER_FEATURE = 40;
const ZONE = "UTC";
const EXPIRY = { expiresOn: "2026-12-31", expiresAt: endOfDay(ZONE, 2026, 12, 31), permanent: false };
/** Approximate size of a row with its user. */
const ROW_BYTES = 250;

/** Creates a DSLicSrv table of about this size: features of tokens with forty holders each. Equal sizes give equal texts. */
export function dslsOutput(megabytes: number): Uint8Array {
  const features = Math.ceil((megabytes * 1_000_000) / ROW_BYTES / PER_FEATURE);
  const up = {
    host: "lic",
    port: 4084,
    status: "up",
    master: false,
    version: "6.426.1",
    error: null,
  } as const;
  const reading = wholeReading({
    manager: "dsls",
    reportTime: null,
    toolVersion: "6.426.1",
    members: [up],
    daemons: [],
    features: Array.from({ length: features }, (_, index) => featureOf(index)),
  });
  return new TextEncoder().encode(dsls.render(reading, { address: "4084@lic", zone: ZONE }));
}

function featureOf(index: number): FeatureReading {
  const draw = draws(1, "dsls", index);
  const checkouts = Array.from({ length: PER_FEATURE }, (_, at): CheckoutReading => {
    const who = index * PER_FEATURE + at;
    return {
      user: `user${String(who % 9_000).padStart(5, "0")}`,
      host: `ws-${String(who % 9_000).padStart(6, "0")}`,
      display: null,
      qualifier: "/opt/solve/bin/fe_solve",
      version: "6.426",
      count: draw.integer(1, 40),
      handle: who.toString(16).toUpperCase().padStart(7, "0"),
      pid: draw.integer(1000, 4_000_000),
      startedAt: INSTANT - draw.integer(0, 86_400) * 1000,
      lingerSeconds: null,
      borrowed: false,
      pool: 0,
    };
  });
  const used = checkouts.reduce((sum, { count }) => sum + count, 0);
  const counts = { total: used + 100, used, unlimited: false };
  const vendorString = "Token,STD,YLC,40012";
  return {
    daemon: "Kernwerk Systemes",
    name: `F${String(index).padStart(4, "0")}`,
    unit: "tokens",
    ...counts,
    error: null,
    pools: [{ ...counts, number: null, version: "12", vendorString, kind: "floating", expiry: EXPIRY }],
    checkouts,
    reservations: [],
    queue: [],
    consistency: "ok",
    cut: false,
  };
}
