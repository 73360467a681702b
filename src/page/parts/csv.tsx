import { addressOf, type Query } from "../api.ts";
import { IS_HUB } from "../here.ts";
import { words } from "../words-pages.ts";

/** The most rows that one answer has. */
export const MOST_ROWS = 10_000;
/** All of a live list: a hub answers a part unless it is told how many. */
export const ALL: Query = IS_HUB ? { limit: `${MOST_ROWS}` } : {};

/** The rows of an answer as a file. */
export function Csv(props: { readonly path: string; readonly query: Query; readonly class?: string }) {
  const address = addressOf(props.path, { ...props.query, format: "csv" });
  return (
    <a class={props.class ?? "btn"} href={`.${address}`} download>
      {words.csv}
    </a>
  );
}
