import { addressOf, type Query } from "../api.ts";
import { number } from "../format.ts";
import { IS_HUB } from "../here.ts";

/** Maximum number of rows of one answer. */
export const MOST_ROWS = 10_000;
/** Parameters for a whole live list: a hub limits it by default. */
export const ALL: Query = IS_HUB ? { limit: `${MOST_ROWS}` } : {};

/** Describes a table with fewer rows than there are. */
export const firstOf = (shown: number, total: number): string =>
  `The first ${number(shown)} of ${number(total)}; the CSV has ${total > MOST_ROWS ? number(MOST_ROWS) : "all"}.`;

/** Links to the rows of an answer as a file. */
export function Csv(props: { readonly path: string; readonly query: Query; readonly class?: string }) {
  const address = addressOf(props.path, { ...props.query, format: "csv" });
  return (
    <a class={props.class ?? "btn"} href={`.${address}`} download>
      CSV
    </a>
  );
}
