import { RESERVATION_TYPES, type ReservationReading, type ReservationType } from "../../domain/reading.ts";
import { isDigit } from "./scan.ts";

const RESERVATION = /^(\d{1,9}) RESERVATIONs? for ([A-Z_]+) (.+)$/is;

/** `N RESERVATION[s] for (USER|HOST|HOST_GROUP|…) NAME… (srv/port)`; null when the line is none. */
export function parseReservation(trimmed: string, pool: number | null): ReservationReading | null {
  const found = isDigit(trimmed.charCodeAt(0)) ? RESERVATION.exec(trimmed) : null;
  if (found === null) return null;
  const count = Number(found[1]);
  const type = reservationType(found[2] ?? "");
  if (type === null || count < 1) return null;
  return { type, name: withoutServer(found[3] ?? ""), count, pool };
}

function reservationType(word: string): ReservationType | null {
  const type = word.toLowerCase();
  return RESERVATION_TYPES.find((known) => known === type) ?? null;
}

/** Names may hold blanks and brackets: only the last bracket with a slash is the server's. */
function withoutServer(text: string): string {
  const open = text.lastIndexOf(" (");
  return open > 0 && text.endsWith(")") && text.indexOf("/", open) !== -1 ? text.slice(0, open) : text;
}
