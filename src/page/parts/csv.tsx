import { addressOf, type Query } from "../api.ts";
import { IS_HUB } from "../here.ts";
import { words } from "../words-pages.ts";

/** Maximum number of rows of one answer. */
export const MOST_ROWS = 10_000;
/** Parameters for a whole live list: a hub limits it by default. */
export const ALL: Query = IS_HUB ? { limit: `${MOST_ROWS}` } : {};

/** Links to the rows of an answer as a file. */
export function Csv(props: { readonly path: string; readonly query: Query; readonly class?: string }) {
  const address = addressOf(props.path, { ...props.query, format: "csv" });
  return (
    <a class={props.class ?? "btn"} href={`.${address}`} download>
      {words.csv}
    </a>
  );
}
