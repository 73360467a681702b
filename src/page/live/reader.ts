import type { Patch, PictureServer } from "../../domain/live-picture.ts";
import { applyPatch, type KeptServer, keptServer } from "../../domain/polls/kept-picture.ts";
import type { Site } from "../model.ts";

interface ReaderDeps {
  /** The picture of these servers, of all for null; null when nothing has changed. Rejects when it cannot be had. */
  readonly load: (ids: readonly string[] | null) => Promise<readonly PictureServer[] | null>;
  /** After every change; the servers that changed are other objects. */
  readonly changed: (site: Site) => void;
  readonly failed: (error: unknown) => void;
}

/**
 * Holds the daemon's picture: loads it, applies the patches that come, and loads a server again after one was missed.
 * Loads run one after the other; patches that come meanwhile wait, so that none is applied to a picture that is replaced.
 */
export function createReader({ load, changed, failed }: ReaderDeps) {
  let site = new Map<string, KeptServer>();
  let waiting: Patch[] = [];
  /** Ids to load, null = all; empty = nothing to do. */
  let wanted: Set<string> | null = new Set();
  let running: Promise<void> | null = null;

  function take(patch: Patch): boolean {
    const next = applyPatch(site.get(patch.server) ?? null, patch);
    if (next === "refetch") {
      // A server that is new has its place in the config: the whole tells which.
      wanted = site.has(patch.server) ? (wanted?.add(patch.server) ?? null) : null;
      return false;
    }
    if (next === null) return site.delete(patch.server);
    if (site.get(patch.server) === next) return false;
    site.set(patch.server, next);
    return true;
  }

  async function run(): Promise<void> {
    while (wanted === null || wanted.size > 0) {
      const ids = wanted === null ? null : [...wanted];
      wanted = new Set();
      try {
        const servers = await load(ids);
        if (ids === null && servers !== null) site = new Map();
        for (const server of servers ?? []) site.set(server.id, keptServer(server));
      } catch (error) {
        // What is shown stays as it was. Who has asked meanwhile has it tried once more, else the stream or a person asks again.
        waiting = [];
        failed(error);
        continue;
      }
      for (const patch of waiting.splice(0)) take(patch);
      changed(new Map(site));
    }
  }

  function start(): Promise<void> {
    running ??= run().finally(() => {
      running = null;
    });
    return running;
  }

  return {
    /** Reads the whole; resolves when the picture is that of a moment after this call, or could not be read. */
    reload(): Promise<void> {
      wanted = null;
      return start();
    },
    apply(patches: readonly Patch[]): void {
      if (running !== null) {
        waiting.push(...patches);
        return;
      }
      if (patches.map(take).includes(true)) changed(new Map(site));
      if (wanted === null || wanted.size > 0) void start();
    },
  };
}
