import { signal } from "@preact/signals";
import type { Patch, Picture, PictureServer } from "../../domain/live-picture.ts";
import { applyPatch, type KeptServer, keptServer } from "../../domain/polls/kept-picture.ts";
import { addressOf, ask, createPatience, PAGE, Refusal } from "../api.ts";
import { ownIds, SITE } from "../here.ts";
import type { Site } from "../model.ts";

interface ReaderDeps {
  /** Loads the servers with these ids, or all servers for null. Returns null if nothing has changed. */
  readonly load: (ids: readonly string[] | null) => Promise<readonly PictureServer[] | null>;
  readonly changed: (site: Site) => void;
  readonly failed: (error: unknown) => void;
}

/**
 * Holds the daemon's picture: loads the picture, applies patches, and loads a server again after a missed
 * patch. Loads run one at a time. Patches wait meanwhile, so that no patch is applied to a picture that is
 * being replaced.
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
      // Load everything for a new server, because only the whole picture has its position.
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
        // Keep the shown data. Calls that arrived meanwhile lead to one more attempt; afterwards the stream
        // or a person must ask again.
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

export const loadedBytes = signal(0);

let tag = "";

/** The next picture may belong to another viewer. */
export function forgetPicture(): void {
  tag = "";
}

/**
 * Reads the servers with these ids, or all for null. Returns null if the whole picture is unchanged. Throws
 * like `get`, or after 30 s without a byte.
 */
export async function readPicture(ids: readonly string[] | null): Promise<readonly PictureServer[] | null> {
  const path = addressOf("/api/picture", ids === null ? {} : { server: ids });
  const headers = { ...PAGE, ...(ids === null && { "if-none-match": tag }) };
  const { signal, heard } = createPatience();
  const response = await ask(path, { cache: "no-store", headers, signal });
  if (response.status === 304) return null;
  if (response.status === 204) throw new Refusal(401, "AUTH_MISSING", "", null, null);
  const { servers } = JSON.parse(ownIds(await textOf(response, heard), SITE)) as Picture;
  if (ids === null) tag = response.headers.get("etag") ?? "";
  return servers;
}

async function textOf({ body }: Response, heard: () => void): Promise<string> {
  const decoder = new TextDecoder();
  const reader = body?.getReader();
  let text = "";
  loadedBytes.value = 0;
  for (let read = await reader?.read(); read?.value !== undefined; read = await reader?.read()) {
    text += decoder.decode(read.value, { stream: true });
    heard();
    loadedBytes.value += read.value.byteLength;
  }
  return text;
}
