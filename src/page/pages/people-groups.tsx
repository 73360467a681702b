import { useMemo } from "preact/hooks";
import { number } from "../format.ts";
import { type GroupRow, groupedHolders, type HolderGroup } from "../groups.ts";
import type { HolderRow } from "../model.ts";
import { Held, Since } from "../parts/holder-table.tsx";
import { VirtualRows } from "../parts/virtual.tsx";
import { linkTo } from "../router.ts";
import { words } from "../words.ts";

/** People, hosts or features, each once, with all they hold. */
export function GroupList({ rows, by }: { readonly rows: readonly HolderRow[]; readonly by: HolderGroup }) {
  const groups = useMemo(() => groupedHolders(rows, by), [rows, by]);
  const { columns } = words;
  return (
    <div class="t pt by-t" role="table" aria-label={words.groupedBy(by)} aria-rowcount={groups.length + 1}>
      <div class="tr th" role="row" aria-rowindex={1}>
        <span role="columnheader">{columns[by]}</span>
        {[
          by === "feature" ? words.people : words.features,
          columns.count,
          columns.waits,
          columns.since,
          columns.held,
        ].map((word) => (
          <span key={word} role="columnheader" class="r">
            {word}
          </span>
        ))}
      </div>
      <VirtualRows rows={groups}>
        {(row, index) => (
          <div class="tr" role="row" aria-rowindex={index}>
            <span role="cell" class="el a-w">
              {row.name === null ? (
                words.notKnown
              ) : (
                <a class="name" href={hrefOf(row, by)} title={row.name}>
                  {row.name}
                </a>
              )}
            </span>
            <span role="cell" class="r">
              {number(row.others)}
            </span>
            <span role="cell" class={`r a-c s ${row.seats === 1 ? "one" : ""}`}>
              {number(row.seats)}
            </span>
            <span role="cell" class={`r ${row.waiting > 0 ? "n-full" : "q"}`}>
              {number(row.waiting)}
            </span>
            <Since row={{ ...row.first, since: row.since }} />
            <Held row={{ ...row.first, kind: "checkout", since: row.since }} />
          </div>
        )}
      </VirtualRows>
    </div>
  );
}

function hrefOf({ first: { server, user, host, feature } }: GroupRow, by: HolderGroup): string {
  if (by === "user") return linkTo("person", { user: user ?? "" });
  if (by === "host") return linkTo("person", { host: host ?? "" });
  const named = server.features.get(feature);
  return linkTo("feature", { server: server.id, daemon: named?.daemon ?? "", name: named?.name ?? feature });
}
