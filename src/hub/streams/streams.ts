import type { Config } from "../../config/config.ts";
import type { HostService } from "../../daemon/meters.ts";
import { ApiError } from "../../domain/errors.ts";
import type { MetricsEvent } from "../../domain/events.ts";
import type { Log } from "../../domain/log.ts";
import type { ServerPicture } from "../../domain/picture.ts";
import { type Clock, systemTimers } from "../../domain/time/clock.ts";
import type { Pseudonyms } from "../../http/anonymous/anonymous.ts";
import { createBroadcaster, type StreamsPort } from "../../http/streams/broadcaster.ts";
import { createEncoder } from "../../http/streams/encode.ts";
import { createSampler } from "../../live/sampler.ts";
import type { Pool } from "../database/connect.ts";
import type { Partitions } from "../database/partitions.ts";
import type { Directory } from "../lists/directory.ts";
import { fleetTotals } from "../lists/summary.ts";
import { createFeed } from "./feed.ts";
import { createPictureWatch } from "./pictures.ts";

const AWAY_RETRY_SECONDS = 5;

interface StreamsDeps {
  readonly pool: Pool;
  readonly partitions: Partitions;
  readonly clock: Clock;
  readonly directory: Directory;
  readonly host: HostService;
  readonly pseudonyms: Pseudonyms;
  readonly anonymous: (picture: ServerPicture) => ServerPicture;
  readonly limits: () => Pick<Config["limits"], "streams" | "streamsPerKey" | "streamBufferBytes">;
  readonly log: Pick<Log, "warn">;
  readonly keyHolds: (id: string) => boolean;
  readonly wake: () => void;
  readonly isFailing: () => boolean;
}

export type HubStreams = Awaited<ReturnType<typeof createHubStreams>>;

/** Serves the daemon's streams with events of all sites. `look` must be called repeatedly. */
export async function createHubStreams(deps: StreamsDeps) {
  const { pool, partitions, clock, directory, host, wake } = deps;
  const feed = await createFeed({
    pool,
    partitions,
    isWatched: () => isWatched(),
    licenses: () => seats(),
    wake,
  });
  const { bus, history } = feed;
  const sampler = createSampler({
    bus,
    clock,
    timers: systemTimers,
    read() {
      const { cpu, memory, disk } = host.renew();
      return { cpu, memory, system: { cpu, memory, disk } };
    },
  });
  const broadcaster = createBroadcaster({
    bus,
    requestSample: sampler.request,
    keyHolds: deps.keyHolds,
    encoder: createEncoder(deps.pseudonyms),
    bufferBytes: () => deps.limits().streamBufferBytes,
    log: deps.log,
  });
  const pictures = createPictureWatch({
    pool,
    bus,
    watching: broadcaster.ofPictures,
    clock,
    anonymous: deps.anonymous,
  });

  function isWatched(): boolean {
    const { sse, websocket } = broadcaster.counts();
    return sse + websocket > 0;
  }

  function seats(): MetricsEvent["licenses"] {
    const { seats, utilization } = fleetTotals(directory, null).totals;
    return { total: seats.total, used: seats.used, utilization };
  }

  const port: StreamsPort = {
    broadcaster,
    history,
    samples: sampler,
    limits() {
      if (deps.isFailing())
        throw new ApiError("SERVICE_UNAVAILABLE", "The hub's database is not responding.", {
          retryAfterSeconds: AWAY_RETRY_SECONDS,
        });
      const { streams, streamsPerKey } = deps.limits();
      return { streams, perKey: streamsPerKey };
    },
  };

  return {
    port,
    counts: broadcaster.counts,
    async look(): Promise<void> {
      await feed.look();
      await pictures.look();
    },
    close: broadcaster.close,
    stop: sampler.stop,
  };
}
