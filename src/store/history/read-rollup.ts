import type { RollupSum } from "../../domain/rollup-sum.ts";

/** One rollup's bytes: see `rollup-bytes.ts` for how they are written. */

export const TO_THE_END = 1;
export const DENIALS = 2;
/** One group whose levels fill the bucket: the last level's time follows from the others. */
export const FULL = 4;

/** What a total is written as: 0 unknown, 1 unlimited, else the total and 2. */
export const UNKNOWN = 0;
export const UNLIMITED = 1;

/** What takes a rollup in, piece by piece: a sum, or what makes one rollup of it. */
export type RollupSink = Pick<RollupSum, "level" | "covered" | "user" | "denials">;

export const SKIP: RollupSink = { level() {}, covered() {}, user() {}, denials() {} };

/**
 * Reads the rollup at `from` of a bucket that begins at `at` (epoch ms), and answers where it ends. This is where the
 * statistics of whole sites spend their time: nothing is made but what the sink makes. Throws RangeError where the
 * bytes end too early.
 */
export function readRollup(
  data: Uint8Array,
  from: number,
  at: number,
  spanMs: number,
  sink: RollupSink,
  withUsers: boolean,
): number {
  let place = from;

  function number(): number {
    const first = data[place++];
    if (first === undefined) throw new RangeError("packed history ends too early");
    if (first < 128) return first;
    let value = first - 128;
    for (let scale = 128; ; scale *= 128) {
      const next = data[place++];
      if (next === undefined) throw new RangeError("packed history ends too early");
      if (next < 128) return value + next * scale;
      value += (next - 128) * scale;
    }
  }

  const flags = number();
  const full = (flags & FULL) !== 0;
  const groups = full ? 1 : number();
  let total: number | null = null;
  for (let group = 0; group < groups; group++) {
    const code = number();
    const unlimited = code === UNLIMITED;
    total = code > UNLIMITED ? code - 2 : null;
    let used = 0;
    let rest = spanMs;
    for (let more = number(); more > 0; more--) {
      used += number();
      const ms = full && more === 1 ? rest : number();
      rest -= ms;
      sink.level(total, unlimited, used, ms);
    }
  }
  if (groups > 1) {
    const last = number();
    total = last === 0 ? null : last - 1;
  }
  const until = (flags & TO_THE_END) !== 0 ? spanMs : number();
  if (groups > 0) sink.covered(at + until, total);
  let user = 0;
  for (let left = number(); left > 0; left--) {
    user += number();
    if (withUsers) sink.user(user);
  }
  if ((flags & DENIALS) !== 0) sink.denials(number());
  return place;
}
