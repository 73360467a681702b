import { useMemo } from "preact/hooks";
import { number } from "../format.ts";
import { type GroupRow, groupedHolders, type HolderGroup } from "../groups.ts";
import type { HolderRow } from "../model.ts";
import { HELD, hrefOfFeature, SEATS, SINCE } from "../parts/holder-table.tsx";
import { Unknown } from "../parts/marks.tsx";
import { linkTo } from "../router.ts";
import { ListTable } from "../tables/list-table.tsx";
import { unlessSeats } from "../words.ts";
import { words } from "../words-pages.ts";

/** Lists people, hosts or features, each once, with all checkouts. */
export function GroupList({ rows, by }: { readonly rows: readonly HolderRow[]; readonly by: HolderGroup }) {
  const groups = useMemo(() => groupedHolders(rows, by), [rows, by]);
  const { columns: heads } = words;
  const others = by === "feature" ? words.people : words.features;
  const { order: _since, ...since } = SINCE;
  return (
    <ListTable<GroupRow>
      label={words.groupedBy(by)}
      class="pt"
      rows={groups}
      columns={[
        {
          head: heads[by],
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
          width: "minmax(4rem, 0.5fr)",
          class: "a-s r",
          cell: (row) => (
            <>
              {number(row.others)} <span class="q card-word">{others.toLowerCase()}</span>
            </>
          ),
        },
        {
          head: heads.count,
          width: "minmax(3.75rem, 0.5fr)",
          class: "a-b r",
          cell: SEATS.cell,
        },
        {
          head: heads.waits,
          width: "minmax(3.75rem, 0.5fr)",
          class: "r",
          cell: ({ waiting }) => <span class={waiting > 0 ? "n-full" : "q"}>{number(waiting)}</span>,
        },
        since,
        { ...HELD, cell: (row) => HELD.cell({ ...row, kind: "checkout" }) },
      ]}
    />
  );
}

function hrefOf(first: HolderRow, by: HolderGroup): string {
  if (by === "feature") return hrefOfFeature(first);
  return linkTo("person", { [by]: first[by] ?? "" });
}
