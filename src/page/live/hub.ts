import { computed, signal } from "@preact/signals";
import type { FleetSummary, SiteRecord } from "../../domain/service/sites.ts";
import { createPatience, get } from "../api.ts";
import { IS_FLEET, SITE } from "../here.ts";
import { changes, firing } from "./alerts.ts";

interface Fleet {
  readonly sites: readonly SiteRecord[];
  readonly summary: FleetSummary;
  /** Number of firing alerts that no one has acknowledged. `firing` has only the newest of them. */
  readonly open: number;
}

/** Null until the fleet is read, and on pages that do not show a fleet. */
export const fleet = signal<Fleet | null>(null);
export const standing = signal<SiteRecord | null>(null);

/**
 * Interval of requests to the hub. A site is silent after 30 s without contact, and viewers must see this
 * within 40 s.
 */
export const HUB_EVERY_MS = 10_000;
const MOST_SITES = "10000";
const NEWEST = "50";

export const readSites = async (signal?: AbortSignal) =>
  (await get("/api/fleet/sites", { limit: MOST_SITES }, signal)).sites;

/** Reads the data of a fleet's page. Throws like `get`, or after 30 s without an answer. */
export async function readFleet(): Promise<[]> {
  const open = { state: "firing", acknowledged: "false", limit: NEWEST };
  const { signal } = createPatience();
  const [sites, summary, worst, { alerts, total }] = await Promise.all([
    readSites(signal),
    get("/api/licenses/summary", {}, signal),
    get("/api/licenses/alerts", { ...open, severity: "critical" }, signal),
    get("/api/licenses/alerts", open, signal),
  ]);
  fleet.value = { sites, summary, open: total };
  firing.value = new Map([...worst.alerts, ...alerts].map((alert) => [alert.id, alert]));
  changes.value++;
  return [];
}

export const firingCount = computed(() => {
  if (!IS_FLEET) return firing.value?.size;
  const { info, warning, critical } = fleet.value?.summary.alerts ?? {};
  return (info ?? 0) + (warning ?? 0) + (critical ?? 0);
});

const isSilent = () => standing.peek()?.state === "silent";

/** Reports whether the site has fallen silent or come back, because the hub then changes all servers of the site. */
export async function wakesOrSleeps(): Promise<boolean> {
  const before = isSilent();
  try {
    const { signal } = createPatience();
    standing.value = await get(`/api/fleet/sites/${encodeURIComponent(SITE ?? "")}`, {}, signal);
  } catch {
    // The request for the picture reports the failure.
    return false;
  }
  return isSilent() !== before;
}
