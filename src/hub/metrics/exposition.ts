import type { ServerPicture } from "../../domain/picture.ts";
import { serverAt } from "../../domain/server.ts";
import { inSlices } from "../../domain/time/slices.ts";
import { createLines, type Fragments, joined } from "../../export/exposition.ts";
import type { Emit, TextFormat } from "../../export/family.ts";
import { emitServer } from "../../export/server-metrics.ts";
import type { Reads } from "../database/reads.ts";
import { createConditions, partsOf } from "../lists/conditions.ts";
import type { Directory } from "../lists/directory.ts";
import { sumOf } from "../lists/directory.ts";
import { featureOf } from "../lists/features.ts";
import { HUB } from "./families.ts";

/** Approximate number of lines, of 100 bytes each, per server and per feature. */
const SERVER_LINES = 24;
const FEATURE_LINES = 12;
/** About 25 MB of text. Beyond it, features are left out and counted. */
export const MAX_LINES = 250_000;
/** Number of servers whose features are in memory at once. */
const SERVERS_A_STEP = 20;

/**
 * Writes the metrics of a fleet, a few servers at a time, to bound memory. Metrics of a site's servers have
 * its `site` label and otherwise equal the site's own.
 */
export function createFleetExposition(
  { reads, directory }: { readonly reads: Pick<Reads, "pool">; readonly directory: Directory },
  maxLines = MAX_LINES,
) {
  let writing: Promise<unknown> = Promise.resolve();

  async function write(servers: readonly ServerPicture[], service: (emit: Emit) => void, format: TextFormat) {
    const features = sumOf(directory.sums(servers.map(({ server }) => server.id)), "features");
    const ofServers = servers.length * SERVER_LINES;
    const hasServers = ofServers <= maxLines;
    const hasFeatures = ofServers + features * FEATURE_LINES <= maxLines;
    const fragments: Fragments[] = [];
    for (let at = 0; hasServers && at < servers.length; at += SERVERS_A_STEP) {
      const some = servers.slice(at, at + SERVERS_A_STEP);
      const pictures = hasFeatures ? await withFeatures(some) : some;
      fragments.push(await inSlices(linesOf(pictures, hasFeatures)));
    }
    const own = createLines();
    service(own.emit);
    own.emit(HUB.leftOut, [["what", "servers"]], hasServers ? 0 : servers.length);
    own.emit(HUB.leftOut, [["what", "features"]], hasFeatures ? 0 : features);
    return joined([...fragments, [...own.encoded()]], format);
  }

  async function withFeatures(heads: readonly ServerPicture[]): Promise<ServerPicture[]> {
    const conditions = createConditions();
    conditions.servers(
      "f",
      heads.map(({ server }) => server.id),
    );
    const rows: { site: string; server: string; body: string; checkouts: number }[] = await reads
      .pool()
      .unsafe(
        `SELECT site, server, body, checkouts FROM current_features f WHERE ${conditions.where()} ORDER BY site, server, place`,
        conditions.values,
      );
    const byServer = Map.groupBy(rows, ({ site, server }) => serverAt(site, server));
    return heads.map((head) => {
      const { id, site = "" } = head.server;
      const features = (byServer.get(id) ?? []).map(({ body, checkouts }) => ({
        ...featureOf(body, head.collectedAt, directory.isSilent(site)),
        // Only the length is used.
        checkouts: new Array(checkouts),
      }));
      return { ...head, features };
    });
  }

  return {
    /** One scrape at a time, to bound memory. */
    render(...asked: Parameters<typeof write>) {
      const turn = () => write(...asked);
      const written = writing.then(turn, turn);
      writing = written.catch(() => {});
      return written;
    },
  };
}

function* linesOf(pictures: readonly ServerPicture[], hasFeatures: boolean): Generator<void, Fragments> {
  const lines = createLines();
  for (const picture of pictures) {
    const [site, id] = partsOf(picture.server.id);
    const steps = emitServer({ ...picture, server: { ...picture.server, id } }, lines.emit, [["site", site]]);
    // The first step covers the server alone.
    if (hasFeatures) yield* steps;
    else steps.next();
    yield;
  }
  return [...lines.encoded()];
}
