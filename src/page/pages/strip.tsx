import type { ComponentChildren } from "preact";
import { number } from "../format.ts";
import { type FeatureRow, type HolderRow, isFull } from "../model.ts";
import { amount, reservedWords } from "../words.ts";

const MOST_CELLS = 40;
/** Minimum share of the strip with room for a name; the table below has all of them. */
const LEAST_NAMED = 1 / 18;

export function Strip(props: {
  readonly row: FeatureRow;
  readonly holders: readonly HolderRow[];
  readonly waiting: readonly HolderRow[];
}) {
  const { feature } = props.row;
  const held = props.holders.reduce((sum, { count }) => sum + count, 0);
  const asked = props.waiting.reduce((sum, { count }) => sum + count, 0);
  const free = Math.max(0, feature.available ?? 0);
  const reserved = Math.min(feature.reserved ?? 0, Math.max(0, (feature.total ?? 0) - free));
  const all = held + reserved + free;
  if (feature.state === "failed" || all + asked === 0) return null;
  const isCells = all <= MOST_CELLS;
  const named = ({ user, count, unit }: HolderRow, more: typeof amount) =>
    count / (all + asked) >= LEAST_NAMED && (
      <>
        {user ?? "not known"}
        {count > 1 && <span class="q">{more(count, unit)}</span>}
      </>
    );
  return (
    <div
      class={`strip ${isFull(props.row) ? "full" : ""}`}
      style={{
        gridTemplateColumns: asked > 0 ? `minmax(0, ${all}fr) minmax(0, ${asked}fr)` : "minmax(0, 1fr)",
      }}
    >
      <ol aria-label="Seats in use">
        {props.holders.map((row) => (
          <Seats key={row.id} count={row.count} isCells={isCells}>
            {named(row, amount)}
          </Seats>
        ))}
        <Seats count={reserved} isCells={isCells} kind="kept">
          <span class="q">{reservedWords(reserved)}</span>
        </Seats>
        <Seats count={free} isCells={isCells} kind="free">
          <span class="q">{`${number(free)} free`}</span>
        </Seats>
      </ol>
      {asked > 0 && (
        <ol class="asked" aria-label="Seats requested">
          {props.waiting.map((row) => (
            <Seats key={row.id} count={row.count} isCells={asked <= MOST_CELLS}>
              {named(row, (count) => `waits for ${number(count)}`)}
            </Seats>
          ))}
        </ol>
      )}
    </div>
  );
}

function Seats(props: {
  readonly count: number;
  readonly isCells: boolean;
  readonly kind?: "kept" | "free";
  readonly children: ComponentChildren;
}) {
  if (props.count === 0) return null;
  return (
    <li class={props.kind} style={{ flexGrow: props.count }}>
      <div class="grp">
        {Array.from({ length: props.isCells ? props.count : 1 }, (_, at) => (
          <i key={at} />
        ))}
      </div>
      <span>{props.children}</span>
    </li>
  );
}
