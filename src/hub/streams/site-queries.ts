import { type TSchema, Type } from "@sinclair/typebox";
import { ApiError } from "../../domain/errors.ts";
import { EVENT_SCHEMAS } from "../../domain/events.ts";
import { record } from "../../domain/records.ts";
import { SITE } from "../../http/lists/lists.ts";
import { queryOf } from "../../http/query.ts";
import type { StreamForm } from "../../http/routes/streams.ts";
import { byLabels } from "../../http/snapshot.ts";
import { STREAM_QUERIES } from "../../http/streams/stream-filter.ts";
import type { Directory } from "../lists/directory.ts";
import { serversIn } from "../lists/scope.ts";

const { logs, metrics, combined } = STREAM_QUERIES;
const queries = {
  logs: queryOf({ ...logs.parameters, ...SITE }),
  metrics,
  combined: queryOf({ ...combined.parameters, ...SITE }),
};

/** Adds the site to an event's schema; a metrics sample is about the hub's own host. */
const ofSite = ({ title, properties }: TSchema): TSchema =>
  record(`${title}AtHub`, { site: Type.String(), ...properties });
const { metrics: sample, ...events } = EVENT_SCHEMAS;
const schemas = {
  metrics: sample,
  ...(Object.fromEntries(Object.entries(events).map(([type, schema]) => [type, ofSite(schema)])) as Record<
    keyof typeof events,
    TSchema
  >),
};

/** Returns the stream queries of the daemon with `site` added. */
export function hubStreams(directory: Directory): StreamForm {
  return {
    queries,
    schemas,
    resolve(wanted) {
      // Throws NOT_FOUND for an unknown site.
      if (wanted.site) serversIn(directory, { site: wanted.site });
      const resolved = byLabels(directory.snapshot(), wanted);
      if (wanted.events?.includes("picture") && !resolved.site && !resolved.server)
        throw new ApiError(
          "INVALID_QUERY",
          "The pictures of a whole fleet are too large for one stream: name site= or server=.",
        );
      return resolved;
    },
  };
}
