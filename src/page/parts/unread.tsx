import type { Site } from "../model.ts";
import { words } from "../words-pages.ts";
import { State } from "./marks.tsx";

const MOST = 20;

/** Servers without any read feature, and the reason: without them a list would look complete. */
export function Unread({ site }: { readonly site: Site }) {
  const unread = [...site.values()].filter(({ features }) => features.size === 0);
  if (unread.length === 0) return null;
  return (
    <ul class="unread-l">
      {unread.slice(0, MOST).map(({ id, lastPollAt, error }) => (
        <li key={id}>
          <b>{id}</b>
          {lastPollAt === null ? (
            <State is="unknown">{words.neverPolled}</State>
          ) : (
            <State is={error === null ? "unknown" : "crit"}>{error?.message ?? words.noFeatures}</State>
          )}
          <code>licmond probe {id}</code>
        </li>
      ))}
      {unread.length > MOST && <li class="q">{words.more(unread.length - MOST)}</li>}
    </ul>
  );
}
