import { groupsOf } from "../daily/figures.ts";
import { daily } from "../daily/words-pages.ts";
import { number } from "../format.ts";
import type { Site } from "../model.ts";
import { State, UsedOf } from "../parts/marks.tsx";
import { Rows } from "../parts/rows.tsx";
import { Section } from "../parts/section.tsx";
import { linkTo } from "../router.ts";
import { words } from "../words-pages.ts";

/** Many servers: a row per label, those with problems first. */
export function ServerGroups({ servers }: { readonly servers: Site }) {
  const { columns } = daily;
  return (
    <Section
      title={words.serversPage}
      note={number(servers.size)}
      more={[daily.allServers, { path: "servers" }]}
    >
      <Rows
        label={words.serversPage}
        rows={groupsOf(servers)}
        columns={[
          {
            head: columns.label,
            by: ({ key }) => key,
            cell: ({ key, by }) =>
              key === "" ? daily.noLabel : <a href={linkTo("servers", { [by]: key })}>{key}</a>,
          },
          { head: words.serversPage, value: ({ count }) => count },
          {
            head: daily.troubled,
            right: true,
            by: ({ troubled }) => troubled,
            cell: ({ troubled }) =>
              troubled === 0 ? <span class="q">0</span> : <State is="warn">{number(troubled)}</State>,
          },
          {
            head: columns.seats,
            right: true,
            by: ({ used }) => used,
            cell: (group) => <UsedOf {...group} />,
          },
        ]}
      />
    </Section>
  );
}
