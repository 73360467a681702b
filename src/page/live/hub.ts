import { computed, signal } from "@preact/signals";
import type { FleetSummary, SiteRecord } from "../../domain/service/sites.ts";
import { createPatience, get } from "../api.ts";
import { IS_FLEET, SITE } from "../here.ts";
import { changes, firing } from "./alerts.ts";

/** What is known of a fleet beside its lists. */
interface Fleet {
  readonly sites: readonly SiteRecord[];
  readonly summary: FleetSummary;
  /** Alerts that fire and that nobody has acknowledged; the newest are in `firing`. */
  readonly open: number;
}

/** Null where the page is not of a fleet, and until that was read. */
export const fleet = signal<Fleet | null>(null);
/** The site that the page is of, as its hub stands to it; null until that was read. */
export const standing = signal<SiteRecord | null>(null);

/** A site is silent after 30 s, and its viewers are to know within 40. */
export const HUB_EVERY_MS = 10_000;
const MOST_SITES = "10000";
const NEWEST = "50";

export const readSites = async (signal?: AbortSignal) =>
  (await get("/api/fleet/sites", { limit: MOST_SITES }, signal)).sites;

/** Reads what the page of a fleet shows instead of a picture. Throws as `get` does, or after 30 s without an answer. */
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

/** How many alerts fire; undefined until that is known. */
export const firingCount = computed(() => {
  if (!IS_FLEET) return firing.value?.size;
  const { info, warning, critical } = fleet.value?.summary.alerts ?? {};
  return (info ?? 0) + (warning ?? 0) + (critical ?? 0);
});

const isSilent = () => standing.peek()?.state === "silent";

/** Whether the site fell silent, or is heard of again: the hub says other things of all its servers then. */
export async function wakesOrSleeps(): Promise<boolean> {
  const before = isSilent();
  try {
    const { signal } = createPatience();
    standing.value = await get(`/api/fleet/sites/${encodeURIComponent(SITE ?? "")}`, {}, signal);
  } catch {
    // The picture, which is asked for at the same time or by its stream, tells what is wrong.
    return false;
  }
  return isSilent() !== before;
}
