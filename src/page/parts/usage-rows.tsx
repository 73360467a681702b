import type { UsageRecord } from "../../domain/history-records.ts";
import { moment } from "../format.ts";
import { now } from "../live/live.ts";
import { rangeInWords } from "../range.ts";
import { past } from "../words-past.ts";
import { FeatureLink, Person } from "./cells.tsx";
import { Rows } from "./figure.tsx";

/** Of an answer: what is kept may begin later than what was asked for. */
export const periodOf = ({ start, end }: { readonly start: string; readonly end: string }) =>
  rangeInWords({ start: Date.parse(start), end: Date.parse(end) }, now.peek());

/** Who or what used how much, the most first. */
export function UsageRows(props: {
  readonly by: string;
  readonly groups: readonly UsageRecord[];
  readonly total: number;
  /** They are of one person: how many there are says nothing. */
  readonly isOfOne?: boolean;
}) {
  const { by, groups, total, isOfOne = by === "user" } = props;
  const people = { head: past.people, value: ({ uniqueUsers }: UsageRecord) => uniqueUsers, wide: true };
  const most = Math.max(1e-9, ...groups.map(({ heldSeatHours }) => heldSeatHours));
  const nameOf = (row: UsageRecord) => {
    if (by === "feature") return <FeatureLink {...row} />;
    const name = row[by as "user"] ?? null;
    return by === "user" ? <Person user={name} /> : (name ?? <span class="q">{past.without(by)}</span>);
  };
  return (
    <Rows
      label={past.by(by)}
      rows={groups}
      total={total}
      columns={[
        { head: past.groups[by as "user"] ?? by, cell: nameOf },
        {
          head: past.share,
          wide: true,
          cell: ({ heldSeatHours }) => (
            <i class="share" style={{ width: `${(100 * heldSeatHours) / most}%` }} />
          ),
        },
        { head: past.seatHours, value: ({ heldSeatHours }) => Math.round(heldSeatHours) },
        { head: past.peak, value: ({ peakHeld }) => peakHeld },
        { head: past.sessions, value: ({ sessions }) => sessions },
        ...(isOfOne ? [] : [people]),
        {
          head: past.lastUsed,
          right: true,
          cell: ({ lastUsedAt }) => moment(Date.parse(lastUsedAt), now.peek()),
          wide: true,
        },
      ]}
    />
  );
}
