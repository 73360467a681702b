import { useMemo } from "preact/hooks";
import { capital, number } from "../format.ts";
import { type GroupRow, groupedHolders, type HolderGroup, sortedGroups } from "../groups.ts";
import type { HolderRow } from "../model.ts";
import { HELD, hrefOfFeature, SEATS, SINCE } from "../parts/holder-table.tsx";
import { Unknown } from "../parts/marks.tsx";
import { linkTo, query } from "../router.ts";
import { ListTable } from "../tables/list-table.tsx";
import { unlessSeats } from "../words.ts";

/** Most seats first. */
const FIRST = "-count";

/** Lists people, hosts or features, each once, with all checkouts. */
export function GroupList({ rows, by }: { readonly rows: readonly HolderRow[]; readonly by: HolderGroup }) {
  const sort = query.value.get("group-sort") ?? FIRST;
  const groups = useMemo(() => sortedGroups(groupedHolders(rows, by), sort), [rows, by, sort]);
  const others = by === "feature" ? "People" : "Features";
  return (
    <ListTable<GroupRow>
      label={`By ${by}`}
      class="pt"
      rows={groups}
      name="group-sort"
      first={FIRST}
      columns={[
        {
          head: capital(by),
          order: "name",
          width: "minmax(7.5rem, 1.4fr)",
          class: "a-n",
          cell: ({ name, first, unit }) =>
            name === null ? (
              <Unknown />
            ) : (
              <a class="name" href={hrefOf(first, by)} title={name}>
                {name}
                <span class="q">{unlessSeats(unit)}</span>
              </a>
            ),
        },
        {
          head: others,
          order: "others",
          width: "minmax(4rem, 0.5fr)",
          class: "a-s r",
          cell: (row) => (
            <>
              {number(row.others)} <span class="q card-word">{others.toLowerCase()}</span>
            </>
          ),
        },
        {
          head: "Seats",
          order: "count",
          width: "minmax(3.75rem, 0.5fr)",
          class: "a-b r",
          cell: SEATS.cell,
        },
        {
          head: "Waits",
          order: "waits",
          width: "minmax(3.75rem, 0.5fr)",
          class: "r",
          cell: ({ waiting }) => <span class={waiting > 0 ? "n-full" : "q"}>{number(waiting)}</span>,
        },
        SINCE,
        { ...HELD, cell: (row) => HELD.cell({ ...row, kind: "checkout" }) },
      ]}
    />
  );
}

function hrefOf(first: HolderRow, by: HolderGroup): string {
  if (by === "feature") return hrefOfFeature(first);
  return linkTo("person", { [by]: first[by] ?? "" });
}
