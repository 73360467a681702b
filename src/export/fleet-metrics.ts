import type { FleetStatus } from "../domain/service/status.ts";
import { counter, type Emit, emitKnown, gauge, seconds } from "./family.ts";

/** Families about what a site of a fleet pushes to its hub; none of them is there where the config has no fleet. */
export const FLEET = {
  connected: gauge("licmond_fleet_connected", "1 while the hub takes pushes, 0 while it does not."),
  contact: gauge(
    "licmond_fleet_last_contact_timestamp_seconds",
    "Time of the last push that the hub took; absent before the first.",
  ),
  waitingFacts: gauge("licmond_fleet_waiting_facts", "Facts that the hub does not have yet."),
  waitingBytes: gauge("licmond_fleet_waiting_bytes", "What these facts take on the disk, about."),
  daysLeft: gauge("licmond_fleet_history_pending", "Days of the past that the hub does not have yet."),
  sentFacts: counter("licmond_fleet_sent_facts_total", "Facts that the hub took."),
  sentBytes: counter("licmond_fleet_sent_bytes_total", "Bytes of pushes that the hub took, compressed."),
  failures: counter("licmond_fleet_failures_total", "Pushes that were not taken and are tried again."),
} as const;

export function emitFleet(status: FleetStatus | null, emit: Emit): void {
  if (status === null) return;
  const { lastContactAt } = status;
  emit(FLEET.connected, [], status.state === "connected" ? 1 : 0);
  emitKnown(emit, FLEET.contact, [], seconds(lastContactAt === null ? null : Date.parse(lastContactAt)));
  for (const name of [
    "waitingFacts",
    "waitingBytes",
    "daysLeft",
    "sentFacts",
    "sentBytes",
    "failures",
  ] as const)
    emit(FLEET[name], [], status[name]);
}
