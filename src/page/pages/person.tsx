import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { DenialRecord } from "../../domain/denials.ts";
import type { UsageRecord } from "../../domain/history-records.ts";
import { get, Refusal } from "../api.ts";
import { moment, number } from "../format.ts";
import { now, site } from "../live/live.ts";
import { allHolders, sortedHolders } from "../model.ts";
import { linkTo, query } from "../router.ts";
import { words } from "../words.ts";
import { HolderList } from "./people.tsx";

interface Past {
  readonly usage: readonly UsageRecord[];
  /** From when on sessions are known. */
  readonly since: number;
  readonly denials: readonly DenialRecord[];
  /** Of all there are; the newest are listed. */
  readonly denialsTotal: number;
  /** Servers whose denials are not seen. */
  readonly unseen: readonly string[];
}
const MOST = 100;

/** One person or host: what they have now, and what they used and were denied in 90 days. */
export function Person() {
  const by = query.value.has("host") ? "host" : "user";
  const name = query.value.get(by) ?? "";
  const past = useSignal<Past | string | null>(null);
  useEffect(() => {
    // The API takes several names, with commas between: such a one cannot be asked for.
    if (name.includes(",")) {
      past.value = words.commaName;
      return;
    }
    const end = new AbortController();
    const asked = { [by]: name, start: "-90d", limit: `${MOST}` };
    Promise.all([
      get("/api/licenses/usage", { ...asked, group_by: "feature", sort: "-heldSeatHours" }, end.signal),
      get("/api/licenses/denials", { ...asked, sort: "-timestamp" }, end.signal),
    ]).then(
      ([{ groups, start }, { denials, total, logging }]) => {
        const unseen = logging.filter(({ state }) => state !== "on").map(({ server }) => server);
        past.value = { usage: groups, since: Date.parse(start), denials, denialsTotal: total, unseen };
      },
      (error: unknown) => {
        if (!end.signal.aborted) past.value = error instanceof Refusal ? error.message : words.unreachable;
      },
    );
    return () => end.abort();
  }, []);

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
      {past.value === null || typeof past.value === "string" ? (
        <p class="sec q">{past.value ?? words.loadingPast}</p>
      ) : (
        <div class="cols c2">
          <Used past={past.value} />
          <Denied past={past.value} />
        </div>
      )}
    </>
  );
}

function Table(props: {
  readonly label: string;
  readonly heads: readonly string[];
  readonly children: ComponentChildren;
}) {
  return (
    <div class="t tt ut" role="table" aria-label={props.label}>
      <div class="tr th" role="row">
        {props.heads.map((head, at) => (
          <span key={head} role="columnheader" class={at > 1 ? "r" : undefined}>
            {head}
          </span>
        ))}
      </div>
      {props.children}
    </div>
  );
}

function FeatureCells({
  row,
}: {
  readonly row: { server?: string; daemon?: string; feature?: string | null };
}) {
  const { server = "", daemon = "", feature } = row;
  return (
    <>
      <span role="cell" class="el">
        {feature ? (
          <a class="name" href={linkTo("feature", { server, daemon, name: feature })}>
            {feature}
          </a>
        ) : (
          words.notKnown
        )}
      </span>
      <span role="cell" class="q el">
        {server}
      </span>
    </>
  );
}

function Used({ past: { usage: rows, since } }: { readonly past: Past }) {
  const { feature, server } = words.columns;
  return (
    <section class="sec">
      <div class="h">
        <h2>{words.usedIn90}</h2>
        <span class="q">{words.seatHours(moment(since, now.peek()))}</span>
      </div>
      {rows.length === 0 && <p class="q">{words.nothingUsed}</p>}
      {rows.length > 0 && (
        <Table label={words.usedIn90} heads={[feature, server, words.hours, words.sessions]}>
          {rows.map((row) => (
            <div key={[row.server, row.daemon, row.feature].join("\n")} class="tr" role="row">
              <FeatureCells row={row} />
              <span role="cell" class="r">
                {number(Math.round(10 * row.heldSeatHours) / 10)}
              </span>
              <span role="cell" class="r">
                {number(row.sessions)}
              </span>
            </div>
          ))}
        </Table>
      )}
    </section>
  );
}

function Denied({ past: { denials, denialsTotal, unseen } }: { readonly past: Past }) {
  const { feature, server, count } = words.columns;
  return (
    <section class="sec">
      <div class="h">
        <h2>{words.deniedIn90}</h2>
        <span class="q">{number(denialsTotal)}</span>
      </div>
      {denials.length === 0 && <p class="q">{words.noneDenied}</p>}
      {unseen.length > 0 && <p class="q">{words.unseen(unseen.join(", "))}</p>}
      {denials.length > 0 && (
        <Table label={words.deniedIn90} heads={[feature, server, count, words.when]}>
          {denials.map((row, at) => (
            <div key={at} class="tr" role="row" title={row.reason ?? undefined}>
              <FeatureCells row={row} />
              <span role="cell" class={`r ${row.outcome === "denied" ? "n-crit" : "q"}`}>
                {number(row.count)}
              </span>
              <span role="cell" class="r">
                {moment(Date.parse(row.timestamp), now.peek())}
              </span>
            </div>
          ))}
        </Table>
      )}
    </section>
  );
}
