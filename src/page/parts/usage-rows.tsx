import type { UsageRecord } from "../../domain/history-records.ts";
import { linkTo } from "../router.ts";
import { past } from "../words-past.ts";
import { FeatureLink, Person } from "./cells.tsx";
import { type Column, Rows } from "./figure.tsx";

/** Who or what used how much, the most first. */
export function UsageRows(props: {
  readonly by: string;
  readonly groups: readonly UsageRecord[];
  readonly total: number;
  /** In the place of their shares. */
  readonly lane?: Column<UsageRecord>;
  /** They are of one person: how many there are says nothing. */
  readonly isOfOne?: boolean;
}) {
  const { by, groups, total, lane, isOfOne = by === "user" } = props;
  const most = (of: UsageRecord["unit"]) =>
    Math.max(1e-9, ...groups.map(({ heldSeatHours, unit }) => (unit === of ? heldSeatHours : 0)));
  const people: Column<UsageRecord> = {
    head: past.people,
    value: ({ uniqueUsers }) => uniqueUsers,
    wide: true,
  };
  const nameOf = (row: UsageRecord) => {
    if (by === "feature") return <FeatureLink {...row} />;
    const name = row[by as "user"] ?? null;
    if (by === "site") return <a href={linkTo("history", { site: name ?? "" })}>{name}</a>;
    return by === "user" ? <Person user={name} /> : (name ?? <span class="q">{past.without(by)}</span>);
  };
  const shareOf = ({ heldSeatHours, unit }: UsageRecord) => (
    <i class="share" style={{ width: `${(100 * heldSeatHours) / most(unit)}%` }} />
  );
  return (
    <Rows
      label={past.by(by)}
      rows={groups}
      total={total}
      columns={[
        { head: past.groups[by as "user"] ?? by, cell: nameOf },
        lane ?? { head: past.share, cell: shareOf, wide: true },
        { head: past.seatHours, value: ({ heldSeatHours }) => Math.round(heldSeatHours) },
        { head: past.peak, value: ({ peakHeld }) => peakHeld },
        { head: past.sessions, value: ({ sessions }) => sessions },
        ...(isOfOne ? [] : [people]),
        { head: past.lastUsed, time: ({ lastUsedAt }) => lastUsedAt, wide: true },
      ]}
    />
  );
}
