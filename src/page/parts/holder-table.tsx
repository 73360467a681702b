import { duration, moment, number } from "../format.ts";
import { now } from "../live/live.ts";
import type { HolderRow } from "../model.ts";
import { State } from "../parts/marks.tsx";
import { linkTo } from "../router.ts";
import { words } from "../words.ts";

const LONG_MS = 86_400_000;

/** Who has a feature, or waits for it. */
export function HolderTable(props: {
  readonly rows: readonly HolderRow[];
  readonly label: string;
  /** Head of how long it lasts. */
  readonly lasts: string;
}) {
  const { columns } = words;
  return (
    <div class="t tt wt" role="table" aria-label={props.label}>
      <div class="tr th" role="row">
        <span role="columnheader">{columns.user}</span>
        <span role="columnheader">{columns.host}</span>
        {[columns.count, columns.since, props.lasts].map((word) => (
          <span key={word} role="columnheader" class="r">
            {word}
          </span>
        ))}
      </div>
      {props.rows.map((row) => (
        <div key={row.id} class="tr" role="row">
          <span role="cell" class="el">
            <a class="name" href={linkTo("person", { user: row.user ?? "" })}>
              {row.user}
            </a>
          </span>
          <span role="cell" class="m el">
            {row.host}
          </span>
          <span role="cell" class={`r s ${row.count === 1 ? "one" : ""}`}>
            {number(row.count)}
          </span>
          <Since row={row} />
          <Held row={row} />
        </div>
      ))}
    </div>
  );
}

export function Since({ row: { since } }: { readonly row: HolderRow }) {
  return (
    <span role="cell" class="r since">
      {since === null ? words.notKnown : moment(since, now.value)}
    </span>
  );
}

/** A checkout of more than a day is marked. */
export function Held({ row: { since, kind } }: { readonly row: HolderRow }) {
  const ms = since === null ? null : now.value - since;
  const text = ms === null ? "" : duration(ms);
  return (
    <span role="cell" class="r held">
      {kind === "checkout" && ms !== null && ms > LONG_MS ? (
        <State is="warn">
          <span class="vh">{words.overADay} </span>
          {text}
        </State>
      ) : (
        text
      )}
    </span>
  );
}
