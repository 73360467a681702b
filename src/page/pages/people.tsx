import { useMemo } from "preact/hooks";
import { number } from "../format.ts";
import { HOLDER_GROUPS } from "../groups.ts";
import { now, site } from "../live/live.ts";
import { allHolders, nameOf, peopleOf, sortedHolders, sumOf } from "../model.ts";
import { ALL, Csv } from "../parts/csv.tsx";
import { FIRST, HolderList } from "../parts/holder-table.tsx";
import { Choice, SearchField } from "../parts/search-field.tsx";
import { linkTo, query } from "../router.ts";
import { matchingHolders } from "../search.ts";
import { NoMatch, SortAgain } from "../tables/list-table.tsx";
import { useSteadyOrder } from "../tables/steady-order.ts";
import { peopleSeats } from "../words.ts";
import { GroupList } from "./people-groups.tsx";

const HOUR_MS = 3_600_000;
const HELD_HOURS = ["1", "4", "8", "24", "168"];

/** Lists checkouts and waiting requests. */
export function People() {
  const servers = site.value ?? new Map<string, never>();
  const asked = query.value;
  const feature = asked.get("feature");
  const hours = Number(asked.get("held"));
  const before = hours > 0 ? now.peek() - hours * HOUR_MS : null;
  const filter = { search: asked.get("q") ?? "", server: asked.get("server"), feature, before };
  const group = HOLDER_GROUPS.find((each) => each === asked.get("group"));
  const sort = asked.get("sort") ?? FIRST;
  const all = useMemo(() => sortedHolders(allHolders(servers), sort), [servers, sort]);
  const fresh = matchingHolders(all, filter);
  const { rows, moved, again, events } = useSteadyOrder(fresh, asked.toString());
  const held = rows.filter(({ kind }) => kind === "checkout");
  const [first] = rows;
  return (
    <>
      <h1 class="vh">People</h1>
      <SearchField label="Search people" hint="Person, host, feature or server" />
      <div class="chips" role="group" aria-label="Filters">
        <p class="count q" role="status">
          {peopleSeats(peopleOf(held), sumOf(held))}
          {rows.length > held.length && `, ${number(rows.length - held.length)} waiting`}
        </p>
        <Choice name="server" any="Server: any" values={[...servers.keys()]} word={(id) => `Server: ${id}`} />
        <Choice
          name="held"
          any="Held: any time"
          values={HELD_HOURS}
          word={(hours) =>
            hours === "168" ? "Held over 7 d" : hours === "24" ? "Held over 1 d" : `Held over ${hours} h`
          }
        />
        <Choice name="group" any="Group: none" values={HOLDER_GROUPS} word={(by) => `By ${by}`} />
        {feature !== null && (
          <a class="chip" href={linkTo("people")} aria-label="Clear filters">
            {`Feature: ${first === undefined ? feature : nameOf(first)}`} ×
          </a>
        )}
        <span class="end">
          <SortAgain moved={moved} again={again} />
          <Csv path="/api/licenses/users" query={ALL} />
        </span>
      </div>
      {group === undefined ? (
        <div {...events}>
          <HolderList rows={rows} />
        </div>
      ) : (
        <GroupList rows={rows} by={group} />
      )}
      {rows.length === 0 && <NoMatch />}
    </>
  );
}
