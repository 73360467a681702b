import { groupsOf } from "../daily/figures.ts";
import { number } from "../format.ts";
import type { Site } from "../model.ts";
import { State, UsedOf } from "../parts/marks.tsx";
import { Rows } from "../parts/rows.tsx";
import { Section } from "../parts/section.tsx";
import { linkTo } from "../router.ts";

/** Many servers: a row per label, those with problems first. */
export function ServerGroups({ servers }: { readonly servers: Site }) {
  return (
    <Section title="Servers" note={number(servers.size)} more={["All servers", { path: "servers" }]}>
      <Rows
        label="Servers"
        rows={groupsOf(servers)}
        columns={[
          {
            head: "Label",
            by: ({ key }) => key,
            cell: ({ key, by }) =>
              key === "" ? "without label" : <a href={linkTo("servers", { [by]: key })}>{key}</a>,
          },
          { head: "Servers", value: ({ count }) => count },
          {
            head: "Not fine",
            right: true,
            by: ({ troubled }) => troubled,
            cell: ({ troubled }) =>
              troubled === 0 ? <span class="q">0</span> : <State is="warn">{number(troubled)}</State>,
          },
          {
            head: "Seats in use",
            right: true,
            by: ({ used }) => used,
            cell: (group) => <UsedOf {...group} />,
          },
        ]}
      />
    </Section>
  );
}
