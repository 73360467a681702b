import type { AlertEngine } from "../alerts/engine.ts";
import type { Collector } from "../collector/collector.ts";
import type { Executor } from "../collector/execute/executor.ts";
import type { Config, FleetSettings } from "../config/config.ts";
import { messageOf } from "../domain/error-code.ts";
import { ApiError } from "../domain/errors.ts";
import type { LogOf } from "../domain/log.ts";
import type { FleetStatus } from "../domain/service/status.ts";
import { type Clock, iso, MINUTE_MS, type Timers } from "../domain/time/clock.ts";
import { hostZone } from "../domain/time/zone.ts";
import type { Actions } from "../fleet/commands.ts";
import { noteStop } from "../fleet/outbox.ts";
import type { Anonymizer } from "../fleet/people.ts";
import { recordFacts, stopRecording } from "../fleet/recording.ts";
import type { Site } from "../fleet/site.ts";
import { anonymousEvent, anonymousPicture, createPseudonyms } from "../http/anonymous/anonymous.ts";
import type { Live } from "../live/live.ts";
import type { Store } from "../store/open/open.ts";
import type { BuildInfo } from "../system/build-info.ts";

/**
 * Time without contact to the hub after which the site itself sends the notifications that the hub should
 * send.
 */
const ALONE_AFTER_MS = 5 * MINUTE_MS;

interface FleetDeps {
  readonly store: Store;
  readonly config: () => Config;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: LogOf;
  readonly build: BuildInfo;
}

interface FleetParts {
  readonly live: Pick<Live, "snapshot">;
  readonly alerts: Pick<AlertEngine, "acknowledge" | "silence">;
  readonly collector: Pick<Collector, "rescan">;
  readonly execute: Executor;
}

export type Fleet = ReturnType<typeof createFleet>;

/**
 * Manages the connection to a hub if the config has one. Must be created before anything is stored, because
 * it records facts from then on. Code for sending is loaded only if needed, because most daemons are not
 * part of a fleet.
 */
export function createFleet({ store, config, clock, timers, log, build }: FleetDeps) {
  const startedAt = clock.now();
  let parts: FleetParts | null = null;
  let site: Site | null = null;
  let settings: FleetSettings | null = null;
  let recorded = "";
  let toldUntil: number | null = null;
  /** The last change, for which the next change waits. */
  let changing: Promise<void> = Promise.resolve();
  let stopped = false;

  function record(): void {
    const { fleet } = config();
    const wanted = fleet === null ? "nothing" : fleet.logs ? "with logs" : "facts";
    if (wanted === recorded) return;
    try {
      if (fleet !== null) recordFacts(store, fleet.logs);
      else {
        if (recorded !== "") stopRecording(store);
        noteStop(store, clock.now());
      }
      recorded = wanted;
    } catch (error) {
      log("store").error("Cannot record facts for the hub", { error: messageOf(error) });
    }
  }

  async function change(): Promise<void> {
    const wanted = stopped ? null : config().fleet;
    if (parts === null || (wanted !== null && Bun.deepEquals(wanted, settings))) return;
    const former = site;
    [site, settings] = [null, null];
    await former?.stop();
    if (wanted === null) return;
    const { createSite } = await import("../fleet/site.ts");
    const { live } = parts;
    const common = { store, settings: wanted, clock, timers, log, timezone: hostZone() };
    const actions = actionsOf(parts, config);
    const own = { snapshot: live.snapshot, version: build.version, toldUntil: () => toldUntil };
    site = createSite({ ...common, ...own, anonymizer, actions });
    settings = wanted;
    site.start();
  }

  function configured(): void {
    record();
    changing = changing.then(change).catch((error: unknown) => {
      log("system").error("Cannot set up the connection to the hub", { error: messageOf(error) });
    });
  }

  record();
  return {
    start(given: FleetParts): void {
      parts = given;
      configured();
    },
    configured,
    notifies(at: number): boolean {
      const { fleet, notifications } = config();
      if (fleet?.notify !== "hub") return false;
      const heard = site?.lastContactAt() ?? startedAt;
      // Without targets at this site only the hub can notify.
      if (at <= heard || clock.now() - heard < ALONE_AFTER_MS || notifications.length === 0) return true;
      toldUntil = clock.now();
      return false;
    },
    status(): FleetStatus | null {
      if (site === null || settings === null) return null;
      const { lastContactAt, waitingSince, ...status } = site.status();
      const { site: name, people, notify, outboxBytes } = settings;
      const times = { lastContactAt: iso(lastContactAt), waitingSince: iso(waitingSince) };
      return {
        site: name,
        hub: new URL(settings.url).origin,
        ...status,
        ...times,
        outboxBytes,
        people,
        notify,
      };
    },
    outbox() {
      const status = this.status();
      if (status === null) return null;
      const { waitingBytes, outboxBytes, dropped } = status;
      return { percent: Math.round((waitingBytes / outboxBytes) * 100), dropped };
    },
    async stop() {
      stopped = true;
      configured();
      await changing;
    },
  };
}

export function anonymizer(secret: Uint8Array): Anonymizer {
  const pseudonyms = createPseudonyms(secret);
  return {
    user: pseudonyms.user,
    host: pseudonyms.host,
    session: pseudonyms.session,
    picture: (picture) => anonymousPicture(picture, pseudonyms),
    event: (json) => anonymousEvent(json, pseudonyms),
  };
}

function actionsOf({ live, alerts, collector, execute }: FleetParts, config: () => Config): Actions {
  const pictureOf = (id: string) => {
    const found = live.snapshot().servers.find(({ server }) => server.id === id);
    if (found === undefined) throw new ApiError("NOT_FOUND", "Unknown server at this site.");
    if (!found.server.enabled)
      throw new ApiError("CONFLICT", `Server ${id} is disabled in the config and is not polled.`);
    return found;
  };
  const handled = ({ outcome }: Awaited<ReturnType<FleetParts["alerts"]["acknowledge"]>>, id: number) => {
    if (outcome === "unknown") throw new ApiError("NOT_FOUND", `Unknown alert ${id}.`);
    if (outcome === "resolved") throw new ApiError("CONFLICT", `Alert ${id} is already resolved.`);
  };
  return {
    acknowledge: async ({ alert, by, comment }) =>
      handled(await alerts.acknowledge(alert, by.name, comment), alert),
    silence: async ({ alert, until, comment }) => handled(await alerts.silence(alert, until, comment), alert),
    async rescan({ servers }) {
      for (const id of servers ?? []) pictureOf(id);
      const rows = await collector.rescan(servers, config().collector.rescanTimeoutMs);
      return rows.map(({ server, status, durationMs, error }) => ({
        server,
        status,
        durationMs: Math.round(durationMs),
        error: error && { code: error.code, message: error.message },
      }));
    },
    async execute({ name, server, args, timeoutMs, by }) {
      const entry = execute.find(name);
      if (entry.role === "admin" && by.role !== "admin")
        throw new ApiError("AUTH_INSUFFICIENT", `The command ${entry.name} requires the role admin.`);
      const picture = server === null ? null : pictureOf(server);
      const { exitCode, durationMs } = await execute.run(execute.plan(entry, { picture, args, timeoutMs }));
      return { exitCode, durationMs: Math.round(durationMs) };
    },
  };
}
