import type { UsageRecord } from "../../domain/history-records.ts";
import { capital } from "../format.ts";
import { linkTo } from "../router.ts";
import { asShare, FeatureLink, featureText, Person } from "./marks.tsx";
import { type Column, Rows } from "./rows.tsx";

export const byWords = (key: string): string => `By ${key.replace("label:", "label ")}`;

export function UsageRows(props: {
  readonly by: string;
  readonly groups: readonly UsageRecord[];
  readonly total: number;
  readonly lane?: Column<UsageRecord>;
  readonly isOfOne?: boolean;
}) {
  const { by, groups, total, lane, isOfOne = by === "user" } = props;
  const sumOf = (of: UsageRecord["unit"]) =>
    groups.reduce((sum, { heldSeatHours, unit }) => sum + (unit === of ? heldSeatHours : 0), 0);
  const sums = { seats: sumOf("seats"), tokens: sumOf("tokens"), credits: sumOf("credits") };
  const shareOf = ({ heldSeatHours, unit }: UsageRecord) =>
    sums[unit] === 0 || total > groups.length ? null : (100 * heldSeatHours) / sums[unit];
  const people: Column<UsageRecord> = { head: "People", value: ({ uniqueUsers }) => uniqueUsers, wide: true };
  const textOf = (row: UsageRecord) => (by === "feature" ? featureText(row) : (row[by as "user"] ?? null));
  const nameOf = (row: UsageRecord) => {
    if (by === "feature") return <FeatureLink {...row} />;
    const name = row[by as "user"] ?? null;
    if (by === "site") return <a href={linkTo("history", { site: name ?? "" })}>{name}</a>;
    return by === "user" ? (
      <Person user={name} />
    ) : (
      (name ?? <span class="q">{`no ${by.replace("label:", "label ")}`}</span>)
    );
  };
  const mostOf = (of: UsageRecord["unit"]) =>
    groups.reduce(
      (most, { heldSeatHours, unit }) => (unit === of ? Math.max(most, heldSeatHours) : most),
      1e-9,
    );
  const most = { seats: mostOf("seats"), tokens: mostOf("tokens"), credits: mostOf("credits") };
  const bar = ({ heldSeatHours, unit }: UsageRecord) => (
    <i class="share" style={{ width: `${(100 * heldSeatHours) / most[unit]}%` }} />
  );
  return (
    <Rows
      label={byWords(by)}
      rows={groups}
      total={total}
      columns={[
        {
          head: by === "user" ? "Person" : by.startsWith("label:") ? by : capital(by),
          by: textOf,
          cell: nameOf,
        },
        lane ?? { head: "Compared", by: ({ heldSeatHours }) => heldSeatHours, cell: bar, wide: true },
        { head: "Seat-hours", value: ({ heldSeatHours }) => Math.round(heldSeatHours) },
        { head: "Share", value: shareOf, as: asShare },
        { head: "Peak", value: ({ peakHeld }) => peakHeld },
        { head: "Sessions", value: ({ sessions }) => sessions },
        ...(isOfOne ? [] : [people]),
        { head: "Last used", time: ({ lastUsedAt }) => lastUsedAt, wide: true },
      ]}
    />
  );
}
