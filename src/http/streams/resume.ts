import { ApiError } from "../../domain/errors.ts";
import { shown } from "../shown.ts";

/**
 * The id to resume behind: the header `Last-Event-ID`, else the query's `last_event_id`. Takes `<n>` or `log-<n>`
 * (any `<type>-<n>` is a payload's id); empty counts as absent. Null = from now on.
 */
export function resumeFrom(request: Request, inQuery: string | null): number | null {
  const header = request.headers.get("last-event-id")?.trim();
  if (header) return parseEventId(header, "Header Last-Event-ID");
  const own = inQuery?.trim();
  return own ? parseEventId(own, 'Query parameter "last_event_id"') : null;
}

function parseEventId(text: string, where: string): number {
  const digits = /^(?:[a-z_]{1,20}-)?(\d{1,15})$/.exec(text)?.[1];
  if (digits !== undefined) return Number(digits);
  throw new ApiError(
    "INVALID_QUERY",
    `${where} got ${shown(text)}; it takes the id of an event, such as 1769847330123.`,
  );
}
