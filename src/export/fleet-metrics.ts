import type { FleetStatus } from "../domain/service/status.ts";
import { counter, type Emit, emitKnown, gauge, seconds } from "./family.ts";

export const FLEET = {
  connected: gauge("licmond_fleet_connected", "1 while the hub accepts pushes, otherwise 0."),
  contact: gauge(
    "licmond_fleet_last_contact_timestamp_seconds",
    "Time of the last accepted push; absent before the first.",
  ),
  waitingFacts: gauge("licmond_fleet_waiting_facts", "Facts that are waiting for the hub."),
  waitingBytes: gauge("licmond_fleet_waiting_bytes", "Approximate disk space of these facts."),
  daysLeft: gauge("licmond_fleet_history_pending", "Days of history that are waiting for the hub."),
  sentFacts: counter("licmond_fleet_sent_facts_total", "Facts accepted by the hub."),
  sentBytes: counter("licmond_fleet_sent_bytes_total", "Compressed bytes accepted by the hub."),
  failures: counter("licmond_fleet_failures_total", "Failed pushes, which are retried."),
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
