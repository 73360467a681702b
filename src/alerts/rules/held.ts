import { heldMessage } from "../../domain/alerts.ts";
import type { CheckoutPicture } from "../../domain/picture.ts";
import type { PictureRule } from "./rule.ts";

const HOUR_MS = 3_600_000;

/**
 * Checkouts held for longer than `held_hours`, one subject for each user on each host. Borrowed seats are out of the
 * house for days on purpose, so they do not count.
 */
export const heldTooLong: PictureRule = ({ features }, { at, settingsOf, watched }, see) => {
  const all = watched();
  for (const { daemon, name, state, checkouts } of features) {
    const { heldHours } = settingsOf(daemon, name);
    const known = all.filter((subject) => subject.daemon === daemon && subject.feature === name);
    if (state !== "ok" || (heldHours <= 0 && known.length === 0)) continue;
    const holders = longestByHolder(checkouts);
    // The longest first, and not in the tool's order, which may be that of names: alerts are numbered in this order.
    const longestFirst = [...holders].sort(([, a], [, b]) => a.since - b.since);
    for (const [detail, { since, who }] of longestFirst) {
      const hours = Math.floor(((at - since) / HOUR_MS) * 10) / 10;
      const isLong = heldHours > 0 && at - since > heldHours * HOUR_MS;
      if (!isLong && !known.some((subject) => subject.detail === detail)) continue;
      see({ daemon, feature: name, detail }, isLong ? 1 : 0, () => ({
        severity: "warning",
        message: heldMessage(who, name, hours, heldHours),
        value: hours,
        threshold: heldHours,
      }));
    }
    for (const { detail } of known) {
      if (detail !== null && !holders.has(detail)) see({ daemon, feature: name, detail }, 0);
    }
  }
};

function longestByHolder(checkouts: readonly CheckoutPicture[]) {
  const holders = new Map<string, { readonly since: number; readonly who: string }>();
  for (const { user, host, borrowed, beganAt, startedAt } of checkouts) {
    const since = beganAt ?? startedAt;
    if (borrowed || since === null) continue;
    const detail = `${user}\0${host?.toLowerCase() ?? ""}`;
    const known = holders.get(detail);
    if (known !== undefined && known.since <= since) continue;
    holders.set(detail, { since, who: host === null ? user : `${user} on ${host}` });
  }
  return holders;
}
