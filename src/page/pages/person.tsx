import { site } from "../live/live.ts";
import { allHolders, sortedHolders } from "../model.ts";
import { DenialRows } from "../parts/denial-rows.tsx";
import { Figure } from "../parts/figure.tsx";
import { HolderList } from "../parts/holder-table.tsx";
import { periodOf, UsageRows } from "../parts/usage-rows.tsx";
import { linkTo, query } from "../router.ts";
import { words } from "../words.ts";

/** One person or host: what they have now, and what they used and were denied in 90 days. */
export function Person() {
  const by = query.value.has("host") ? "host" : "user";
  const name = query.value.get(by) ?? "";
  const asked = { [by]: name, start: "-90d", limit: "100" };
  const held = allHolders(site.value ?? new Map<string, never>()).filter(
    (row) => row[by] === name && row.kind !== "reservation",
  );
  const rows = sortedHolders(held, query.value.get("sort") ?? "since");
  const seats = rows.reduce((sum, { kind, count }) => sum + (kind === "checkout" ? count : 0), 0);
  return (
    <>
      <div class="crumbs">
        <ol>
          <li>
            <a href={linkTo("people")}>{words.people}</a>
          </li>
          <li aria-hidden="true">›</li>
        </ol>
        <h1>{name}</h1>
      </div>
      <section class="sec flush">
        <div class="h">
          <h2>{words.holdsNow}</h2>
          <span class="q">{words.seats(seats)}</span>
        </div>
        {rows.length === 0 ? <p class="q">{words.holdsNothing}</p> : <HolderList rows={rows} />}
      </section>
      {name.includes(",") ? (
        // The API takes several names, with commas between: such a one cannot be asked for.
        <p class="sec q">{words.commaName}</p>
      ) : (
        <>
          <Figure
            title={words.usedIn90}
            path="/api/licenses/usage"
            query={{ ...asked, group_by: "feature" }}
            note={periodOf}
          >
            {({ groups, total }) => (
              <UsageRows by="feature" groups={groups} total={total} isOfOne={by === "user"} />
            )}
          </Figure>
          <Figure
            title={words.deniedIn90}
            path="/api/licenses/denials"
            query={{ ...asked, sort: "-timestamp" }}
          >
            {(answer) => <DenialRows answer={answer} isOfMany />}
          </Figure>
        </>
      )}
    </>
  );
}
