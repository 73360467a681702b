import type { Published } from "../../live/bus.ts";
import type { Hub } from "./hub.ts";
import type { EventHistory } from "./replay.ts";

/** What the stream routes need of the daemon. */
export interface StreamsPort {
  readonly hub: Hub;
  readonly history: EventHistory;
  readonly samples: {
    /** The sample of this moment, if there is one. */
    fresh(): Published | null;
    since(id: number): readonly Published[];
  };
  /** Streams at the same time: in all, and of one key. */
  limits(): { readonly streams: number; readonly perKey: number };
}
