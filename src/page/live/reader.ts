import type { Patch, PictureServer } from "../../domain/live-picture.ts";
import { applyPatch, type KeptServer, keptServer } from "../../domain/polls/kept-picture.ts";
import type { Site } from "../model.ts";

interface ReaderDeps {
  /**
   * Loads the picture of these servers, or of all for null. Returns null if unchanged. Rejects if it cannot
   * be read.
   */
  readonly load: (ids: readonly string[] | null) => Promise<readonly PictureServer[] | null>;
  readonly changed: (site: Site) => void;
  readonly failed: (error: unknown) => void;
}

/**
 * Holds the daemon's picture: loads it, applies patches, and loads a server again after a missed patch.
 * Loads run one at a time; patches wait meanwhile, so that none is applied to a replaced picture.
 */
export function createReader({ load, changed, failed }: ReaderDeps) {
  let site = new Map<string, KeptServer>();
  let waiting: Patch[] = [];
  /** Ids to load: null for all, empty for none. */
  let wanted: Set<string> | null = new Set();
  let running: Promise<void> | null = null;

  function take(patch: Patch): boolean {
    const next = applyPatch(site.get(patch.server) ?? null, patch);
    if (next === "refetch") {
      // Only the whole picture has the position of a new server.
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
        // Keep the shown data. Callers that asked meanwhile get one more attempt; after that the stream or
        // a person asks again.
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
    /** Reads the whole picture. Resolves when the picture is newer than this call, or could not be read. */
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
