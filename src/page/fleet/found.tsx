import { siteOf } from "../../domain/server.ts";
import { mayNot } from "../api.ts";
import { moment, plural, shortIn } from "../format.ts";
import { now } from "../live/live.ts";
import { SeatBar } from "../parts/bar.tsx";
import { Figure } from "../parts/figure.tsx";
import { FeatureLink, Known, State, UsedOf } from "../parts/marks.tsx";
import { Rows } from "../parts/rows.tsx";
import { useSettled } from "../parts/search-field.tsx";
import { linkTo } from "../router.ts";

const MARKS = { partial: "partial", stale: "stale", failed: "crit" } as const;
const LIMIT = "50";
export function Found(props: Readonly<{ search: string }>) {
  const search = useSettled(props.search);
  return (
    <div class="cols c2">
      <Figure
        title="Features"
        path="/api/licenses/features"
        query={{ search, sort: "-available", limit: LIMIT }}
        note={({ total }) => plural(total, "feature")}
      >
        {({ features, total }) => (
          <Rows
            label="Features"
            rows={features}
            total={total}
            columns={[
              {
                head: "Feature",
                by: ({ name }) => name,
                cell: ({ name, ...of }) => <FeatureLink quiet {...of} feature={name} />,
              },
              { head: "Server", by: ({ server }) => server, style: "q" },
              {
                head: "Seats",
                wide: true,
                by: ({ total }) => total,
                cell: (feature) => <SeatBar feature={feature} />,
              },
              {
                head: "In use",
                right: true,
                by: ({ used }) => used,
                cell: (feature) => <UsedOf {...feature} />,
              },
              {
                head: "Free",
                right: true,
                by: ({ available }) => available,
                cell: ({ available, unlimited, unit }) =>
                  unlimited ? (
                    "no limit"
                  ) : (
                    <Known value={available && Math.max(0, available)} as={shortIn(unit)} />
                  ),
              },
              {
                head: "Note",
                wide: true,
                by: ({ state }) => state,
                cell: ({ state }) => state !== "ok" && <State is={MARKS[state]}>{state}</State>,
              },
            ]}
          />
        )}
      </Figure>
      {!mayNot("holders") && (
        <Figure title="People" path="/api/licenses/users" query={{ search, limit: LIMIT }}>
          {({ users, total }) => (
            <Rows
              label="People"
              rows={users}
              total={total}
              columns={[
                {
                  head: "User",
                  by: ({ user }) => user,
                  cell: (row) => <Who of="user" name={row.user} server={row.server} />,
                },
                {
                  head: "Host",
                  wide: true,
                  by: ({ host }) => host,
                  cell: (row) => <Who of="host" name={row.host} server={row.server} />,
                },
                {
                  head: "Feature",
                  by: ({ feature }) => feature,
                  cell: (row) => <FeatureLink quiet {...row} />,
                },
                { head: "Server", by: ({ server }) => server, style: "q" },
                { head: "Seats", value: ({ count }) => count },
                {
                  head: "Since",
                  right: true,
                  wide: true,
                  by: ({ startedAt }) => startedAt,
                  cell: ({ kind, startedAt }) =>
                    kind === "queued"
                      ? "waits"
                      : startedAt !== null && moment(Date.parse(startedAt), now.peek()),
                },
              ]}
            />
          )}
        </Figure>
      )}
    </div>
  );
}

function Who({ of, name, server }: Readonly<{ of: "user" | "host"; name: string | null; server: string }>) {
  return name === null ? null : <a href={linkTo("person", { site: siteOf(server), [of]: name })}>{name}</a>;
}
