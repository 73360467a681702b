import { ApiError } from "../../domain/errors.ts";
import { permits } from "../../domain/keys.ts";
import type { Log } from "../../domain/log.ts";
import { LOG_SOURCES } from "../../domain/words.ts";
import type { Exchange } from "../exchange.ts";
import { type CatchingUp, catchUp } from "./catch-up.ts";
import { chunkOf } from "./hub.ts";
import type { StreamsPort } from "./port.ts";
import { aheadNotes, gapNotes } from "./replay.ts";
import { resumeFrom } from "./resume.ts";
import { HIDDEN_FROM_VIEWERS, type Sight, type StreamName } from "./stream-filter.ts";

/** A stream that may be opened: everything but how it is carried. */
export interface Opening {
  readonly keyId: string;
  readonly sight: Sight;
  readonly from: number | null;
  readonly notes: readonly string[];
  begin(client: CatchingUp): Promise<void>;
  onSlow(): void;
  onError(error: unknown): void;
}

/** The checks that all streams share. Throws ApiError. */
export function openStream(
  { hub, history, samples, limits }: StreamsPort,
  log: Log,
  stream: StreamName,
  request: Request,
  exchange: Exchange,
  lastEventId: string | null,
): Opening {
  const { caller } = exchange;
  if (caller === null) throw new Error("A stream needs a key");
  const from = resumeFrom(request, lastEventId);
  const { streams, perKey } = limits();
  const { sse, websocket } = hub.counts();
  if (sse + websocket >= streams)
    throw full(`${streams} streams are open, which is the most (limits.streams).`);
  if (hub.ofKey(caller.id) >= perKey) {
    throw full(`This key has ${perKey} streams open, which is the most (limits.streams_per_key).`);
  }
  const noLogs = !permits(caller, "logs");
  const hidden = permits(caller, "protected_logs") ? [] : HIDDEN_FROM_VIEWERS;
  const only = stream === "logs" ? "log" : undefined;
  const tell = hub.teller.published;
  // Samples are kept for an hour and no longer: that older ones are gone is no news.
  const gaps = from === null || stream === "metrics" ? [] : gapNotes(history, from, only);
  const notes = from === null ? [] : [...aheadNotes(from, hub.lastPublished()), ...gaps];

  return {
    keyId: caller.id,
    sight: { hidden: noLogs ? LOG_SOURCES : hidden, anonymous: caller.anonymize },
    from,
    notes,
    async begin(client) {
      if (from !== null) {
        const samplesSince = (id: number) => samples.since(id).map(tell);
        const lateNotes = () => gapNotes(history, from, only).filter((note) => !notes.includes(note));
        return catchUp(client, from, { hub, history, samplesSince, lateNotes, breathe });
      }
      hub.goLive(client);
      const fresh = samples.fresh();
      const chunk = fresh === null ? null : chunkOf([tell(fresh)], client.filter);
      if (chunk !== null) client.send(chunk);
      else hub.wantSample(client);
    },
    onSlow: () => log.warn("A stream client reads too slowly and was cut off", { keyId: caller.id, stream }),
    onError: (error) =>
      log.error("A stream failed", {
        keyId: caller.id,
        stream,
        error: String(error),
        requestId: exchange.id,
      }),
  };
}

/** Seconds after which a place may be free. */
const RETRY_SECONDS = 5;

function full(message: string): ApiError {
  return new ApiError("SERVICE_UNAVAILABLE", message, { retryAfterSeconds: RETRY_SECONDS });
}

function breathe(): Promise<void> {
  return new Promise((resume) => setImmediate(resume));
}
