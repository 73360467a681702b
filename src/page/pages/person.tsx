import { featureIdKey } from "../../domain/history.ts";
import type { UsageRecord } from "../../domain/history-records.ts";
import { now, site } from "../live/live.ts";
import { allHolders, sortedHolders, sumOf } from "../model.ts";
import { useAnswer } from "../parts/answer.tsx";
import { stretch, Timeline } from "../parts/bar.tsx";
import { DenialFigure } from "../parts/denial-rows.tsx";
import { Figure, MOST_ROWS } from "../parts/figure.tsx";
import { HolderList } from "../parts/holder-table.tsx";
import { coveredIn } from "../parts/past-head.tsx";
import { PrintFoot } from "../parts/print-foot.tsx";
import { Crumbs, Head } from "../parts/section.tsx";
import { UsageRows } from "../parts/usage-rows.tsx";
import { sessionBegin } from "../past-rows.ts";
import { DAY_MS } from "../range.ts";
import { linkTo, query } from "../router.ts";
import { amount } from "../words.ts";

export function Person() {
  const by = query.value.has("host") ? "host" : "user";
  const name = query.value.get(by) ?? "";
  const held = allHolders(site.value ?? new Map<string, never>()).filter(
    (row) => row[by] === name && row.kind !== "reservation" && row.kind !== "assigned",
  );
  const rows = sortedHolders(held, query.value.get("sort") ?? "since");
  const seats = sumOf(rows.filter(({ kind }) => kind === "checkout"));
  return (
    <>
      <Crumbs path={[<a href={linkTo("people")}>People</a>]} name={name} />
      <section class="sec flush">
        <Head title="Has now" note={amount(seats)} />
        {rows.length === 0 ? <p class="q">Nothing now.</p> : <HolderList rows={rows} />}
      </section>
      {/* The API separates names by commas, so it cannot be asked for such a name. */}
      {name.includes(",") ? (
        <p class="sec q">History of a name with a comma is not available.</p>
      ) : (
        <PersonPast by={by} name={name} />
      )}
    </>
  );
}

function PersonPast({ by, name }: Readonly<{ by: "user" | "host"; name: string }>) {
  const range = { start: now.peek() - 90 * DAY_MS, end: now.peek(), word: null };
  const asked = { [by]: name, start: "-90d" };
  const { answer } = useAnswer("/api/licenses/sessions", { ...asked, limit: `${MOST_ROWS}` });
  const { answer: polls } = useAnswer("/api/licenses/outages", { start: "-90d", limit: "1" });
  const sessions = Map.groupBy(answer?.sessions ?? [], featureIdKey);
  const heldIn = (row: UsageRecord) => [
    ...(polls?.servers.find(({ server }) => server === row.server)?.gaps ?? []).map(({ start, end }) =>
      stretch("unread", start, end),
    ),
    ...(sessions.get(featureIdKey(row)) ?? []).map((session) =>
      stretch("use", new Date(sessionBegin(session)).toISOString(), session.endedAt ?? session.lastSeenAt),
    ),
  ];
  return (
    <>
      <Figure
        title="Used in 90 days"
        path="/api/licenses/usage"
        query={{ ...asked, limit: `${MOST_ROWS}`, group_by: "feature" }}
        note={(answer) => coveredIn(answer, [answer])}
      >
        {({ groups, total }) => (
          <UsageRows
            by="feature"
            groups={groups}
            total={total}
            isOfOne={by === "user"}
            lane={{
              head: "Over time",
              wide: true,
              by: ({ lastUsedAt }) => lastUsedAt,
              cell: (row) => <Timeline range={range} of={heldIn(row)} />,
            }}
          />
        )}
      </Figure>
      <DenialFigure
        title="Denied in 90 days"
        query={{ ...asked, sort: "-timestamp" }}
        range={range}
        isOfMany
      />
      <PrintFoot range={range} />
    </>
  );
}
