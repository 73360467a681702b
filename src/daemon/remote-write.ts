import type { Config } from "../config/config.ts";
import type { Log } from "../domain/log.ts";
import type { Snapshot } from "../domain/picture.ts";
import type { Clock } from "../domain/time/clock.ts";
import type { Timers } from "../domain/time/timers.ts";
import type { Writer } from "../export/remote-write/writer.ts";
import type { Meters } from "./meters.ts";

/** The push of metrics, while the config has one. */
export interface RemoteWrite {
  /** Takes up what the config says now: at the start, and after each reload. */
  configured(): void;
  stop(): Promise<void>;
}

export interface RemoteWriteDeps {
  readonly config: () => Config["remoteWrite"];
  readonly snapshot: () => Snapshot;
  readonly meters: Pick<Meters, "emit" | "add">;
  /** `host:port` of this daemon, as a scraper would call it. */
  readonly instance: string;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
}

/** What is needed for writing is loaded when the config asks for it: most daemons are scraped. */
export function createRemoteWrite(deps: RemoteWriteDeps): RemoteWrite {
  const { config, meters, instance, log } = deps;
  let writer: Writer | null = null;
  let takeAway = () => {};
  /** Changes are made one after the other. */
  let changing: Promise<void> = Promise.resolve();
  let stopped = false;

  async function change(): Promise<void> {
    const wanted = stopped ? null : config();
    if (wanted === null) {
      takeAway();
      takeAway = () => {};
      await writer?.stop();
      writer = null;
      return;
    }
    if (writer === null) {
      const made = await makeWriter(deps);
      takeAway = meters.add(made.emit);
      writer = made;
    }
    const { labels, ...settings } = wanted;
    writer.configure({ ...settings, labels: Object.entries({ job: "licmond", instance, ...labels }) });
  }

  function configured(): void {
    changing = changing.then(change).catch((error: unknown) => {
      log.error("The export of metrics could not be set up", { error: String(error) });
    });
  }

  return {
    configured,
    async stop() {
      stopped = true;
      configured();
      await changing;
    },
  };
}

async function makeWriter({ snapshot, meters, clock, timers, log }: RemoteWriteDeps): Promise<Writer> {
  const { createWriter } = await import("../export/remote-write/writer.ts");
  const { post } = await import("../export/remote-write/post.ts");
  return createWriter({ snapshot, service: meters.emit, post, clock, timers, random: Math.random, log });
}
