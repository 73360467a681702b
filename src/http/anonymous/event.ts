import { anonymousAlert } from "../../domain/alerts.ts";
import type {
  AlertEvent,
  AnyEvent,
  CheckinEvent,
  CheckoutEvent,
  DenialEvent,
  EventType,
  ServerStatusEvent,
} from "../../domain/events.ts";
import type { Pseudonyms } from "./pseudonyms.ts";

/** How an event goes out to anonymized keys: as it is, under pseudonyms, or not at all. */
export const ANONYMOUS_FORM = {
  log: "never",
  metrics: "same",
  checkout: "pseudonyms",
  checkin: "pseudonyms",
  server_status: "pseudonyms",
  alert: "pseudonyms",
  denial: "pseudonyms",
} as const satisfies Record<EventType, "same" | "pseudonyms" | "never">;

/** The JSON text of a checkout, checkin, denial, status or alert with nobody recognisable in it. Takes it parsed or as text. */
export function anonymousEvent(event: AnyEvent | string, pseudonyms: Pseudonyms): string {
  const told = (typeof event === "string" ? JSON.parse(event) : event) as
    | CheckoutEvent
    | CheckinEvent
    | DenialEvent
    | ServerStatusEvent
    | AlertEvent;
  if (told.type === "alert") return JSON.stringify(anonymousAlert(told));
  if (told.type === "server_status") {
    // Why a daemon is down stands there in the tool's words; of a server it is our own.
    return JSON.stringify({ ...told, reason: told.daemon === null ? told.reason : null });
  }
  return JSON.stringify({
    ...told,
    user: told.user === null ? null : pseudonyms.user(told.user),
    host: told.host === null ? null : pseudonyms.host(told.host),
    ...("display" in told && { display: null }),
    ...("reason" in told && { reason: null }),
  });
}
