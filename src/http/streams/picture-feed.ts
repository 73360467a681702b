import type { ServerPicture } from "../../domain/picture.ts";
import type { Clock } from "../../domain/time/clock.ts";
import type { Audience } from "../../domain/words.ts";
import type { Bus } from "../../live/bus.ts";
import type { Live } from "../../live/live.ts";
import { limitedPicture, type Pseudonyms } from "../anonymous/anonymous.ts";
import { patchJson } from "../picture.ts";
import { perPicture } from "../snapshot.ts";

interface PictureFeedDeps {
  readonly live: Pick<Live, "snapshot" | "subscribe">;
  readonly bus: Pick<Bus, "pass">;
  /**
   * False while no client wants pictures. Then none are emitted, because each id costs a write per second,
   * and later clients read the current picture anyway.
   */
  readonly isWanted: () => boolean;
  readonly pseudonyms: Pseudonyms;
  readonly clock: Clock;
}

/**
 * Numbers the pictures of each server and emits an event `picture` for each. Patches are made for the first client
 * that wants them, once per audience.
 */
export function createPictureFeed({ live, bus, isWanted, pseudonyms, clock }: PictureFeedDeps) {
  // Start with the time, so that numbers of earlier processes are not reused: pictures change less often
  // than once per millisecond.
  const first = clock.now();
  const numbers = new Map<string, number>();
  const anonymous = perPicture((picture) => limitedPicture(picture, pseudonyms));
  const idsOf = () => live.snapshot().servers.map(({ server }) => server.id);
  for (const id of idsOf()) numbers.set(id, first);

  const unsubscribe = live.subscribe(({ server: { id }, before, after, snapshot }) => {
    const from = numbers.get(id) ?? null;
    const to = first + snapshot.version;
    numbers.set(id, to);
    if (!isWanted()) return;
    bus.pass(
      { type: "picture", server: id, from, to, status: after.status },
      patchBetween(before, after, anonymous),
    );
  });

  return {
    numberOf: (id: string): number => numbers.get(id) ?? first,
    anonymous,
    /** Reports removed servers after a reload. */
    configured(): void {
      const left = new Set(idsOf());
      for (const [id, from] of [...numbers]) {
        if (left.has(id)) continue;
        numbers.delete(id);
        const notice = { type: "picture", server: id, from, to: null, status: "unknown" } as const;
        if (isWanted()) bus.pass(notice, () => NOTHING);
      }
    },
    stop: unsubscribe,
  };
}

export function patchBetween(
  before: ServerPicture | null,
  after: ServerPicture,
  anonymous: (picture: ServerPicture) => ServerPicture,
) {
  return (audience: Audience): string =>
    audience === "names"
      ? patchJson(before, after)
      : patchJson(before && anonymous(before), anonymous(after), audience === "pseudonyms");
}

export const NOTHING = '"changed":{},"features":[],"rows":[],"gone":{"features":[],"rows":[]}';
