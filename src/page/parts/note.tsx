import { groupLimit } from "../../domain/polls/seat-groups.ts";
import { duration } from "../format.ts";
import { now } from "../live/live.ts";
import { daysLeft, type FeatureRow } from "../model.ts";
import { words } from "../words.ts";

/** The most important remark next to the bar. */
export function Note({ row }: { readonly row: FeatureRow }) {
  const { feature, server } = row;
  const over = -(feature.available ?? 0);
  if ((feature.queued ?? 0) > 0) return <span class="n-full">{words.waiting(feature.queued ?? 0)}</span>;
  if (feature.state === "failed") return <span class="n-crit">{words.failedState}</span>;
  if ((daysLeft(row, now.peek()) ?? 0) < 0) return <span class="n-crit">{words.expired}</span>;
  const readAt = feature.collectedAt ?? server.collectedAt;
  if (feature.state === "stale" && readAt !== null)
    return <>{words.old(duration(now.value - Date.parse(readAt)))}</>;
  if (over > 0) return <span class="n-full">{words.over(over)}</span>;
  if ((feature.reserved ?? 0) > 0) return <span class="q">{words.reserved(feature.reserved ?? 0)}</span>;
  if (groupLimit(feature) > 0)
    return (
      <span class="q" title={words.groupLimitLong}>
        {words.groupLimit}
      </span>
    );
  return feature.shared ? <span class="q">{words.shared}</span> : null;
}
