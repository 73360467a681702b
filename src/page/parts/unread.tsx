import { number } from "../format.ts";
import type { Site } from "../model.ts";
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
            <State is="unknown">not polled yet</State>
          ) : (
            <State is={error === null ? "unknown" : "crit"}>
              {error?.message ?? "no features were read"}
            </State>
          )}
          <code>licmond probe {id}</code>
        </li>
      ))}
      {unread.length > MOST && <li class="q">{`${number(unread.length - MOST)} more`}</li>}
    </ul>
  );
}
