import type { FeatureReading } from "../../src/domain/reading.ts";
import { endOfDay } from "../../src/domain/time/zone.ts";
import { dsls } from "../../src/managers/dsls/index.ts";
import { draws } from "../../src/simulator/random.ts";
import { wholeReading } from "../../src/simulator/site.ts";
import { checkout, feature, member, pool } from "../../test/domain/make.ts";
import { INSTANT } from "./shapes.ts";

const PER_FEATURE = 40;
const ZONE = "UTC";
const EXPIRY = { expiresOn: "2026-12-31", expiresAt: endOfDay(ZONE, 2026, 12, 31), permanent: false };
/** Approximate length of a user's row in bytes. */
const ROW_BYTES = 250;

/**
 * Returns a DSLicSrv table of about `megabytes` MB. Its features count tokens and have forty holders each.
 * Equal sizes give equal texts.
 */
export function dslsOutput(megabytes: number): Uint8Array {
  const features = Math.ceil((megabytes * 1_000_000) / ROW_BYTES / PER_FEATURE);
  const reading = wholeReading({
    manager: "dsls",
    reportTime: null,
    toolVersion: "6.426.1",
    members: [member({ host: "lic", port: 4084, version: "6.426.1" })],
    daemons: [],
    features: Array.from({ length: features }, (_, index) => featureOf(index)),
  });
  return new TextEncoder().encode(dsls.render(reading, { address: "4084@lic", zone: ZONE }));
}

function featureOf(index: number): FeatureReading {
  const draw = draws(1, "dsls", index);
  const checkouts = Array.from({ length: PER_FEATURE }, (_, at) => {
    const who = index * PER_FEATURE + at;
    return checkout({
      user: `user${String(who % 9_000).padStart(5, "0")}`,
      host: `ws-${String(who % 9_000).padStart(6, "0")}`,
      display: null,
      qualifier: "/opt/solve/bin/fe_solve",
      version: "6.426",
      count: draw.integer(1, 40),
      handle: who.toString(16).toUpperCase().padStart(7, "0"),
      pid: draw.integer(1000, 4_000_000),
      startedAt: INSTANT - draw.integer(0, 86_400) * 1000,
      pool: 0,
    });
  });
  const used = checkouts.reduce((sum, { count }) => sum + count, 0);
  const counts = { total: used + 100, used };
  const pools = [pool({ ...counts, version: "12", vendorString: "Token,STD,YLC,40012", expiry: EXPIRY })];
  const name = `F${String(index).padStart(4, "0")}`;
  return feature({ daemon: "Kernwerk Systemes", name, unit: "tokens", ...counts, pools, checkouts });
}
