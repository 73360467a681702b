import { groupLimit } from "../../domain/polls/seat-groups.ts";
import { duration, number } from "../format.ts";
import { now } from "../live/live.ts";
import { daysLeft, type FeatureRow } from "../model.ts";
import { reservedWords, waitingWords } from "../words.ts";

/** The most important remark next to the bar. */
export function Note({ row }: { readonly row: FeatureRow }) {
  const { feature, server } = row;
  const over = -(feature.available ?? 0);
  if ((feature.queued ?? 0) > 0) return <span class="n-full">{waitingWords(feature.queued ?? 0)}</span>;
  if (feature.state === "failed") return <span class="n-crit">failed</span>;
  if ((daysLeft(row, now.peek()) ?? 0) < 0) return <span class="n-crit">expired</span>;
  const readAt = feature.collectedAt ?? server.collectedAt;
  if (feature.state === "stale" && readAt !== null)
    return <>{`${duration(now.value - Date.parse(readAt))} old`}</>;
  if (over > 0) return <span class="n-full">{`${number(over)} over`}</span>;
  if ((feature.reserved ?? 0) > 0) return <span class="q">{reservedWords(feature.reserved ?? 0)}</span>;
  if (groupLimit(feature) > 0)
    return (
      <span class="q" title="Its seat group has no further free seats">
        group limit
      </span>
    );
  return feature.shared ? <span class="q">shared seats</span> : null;
}
