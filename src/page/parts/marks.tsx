import type { ComponentChildren } from "preact";
import type { Unit } from "../../domain/words.ts";
import { duration, shortIn } from "../format.ts";
import { now } from "../live/live.ts";

export type Mark = "ok" | "full" | "warn" | "crit" | "stale" | "partial" | "unknown" | "info";
export type IconName =
  | Mark
  | "find"
  | "theme"
  | "people"
  | "find20"
  | "out"
  | "home"
  | "alert"
  | "history"
  | "admin"
  | "more";

/** A drawing of the sprite in index.html. `size`: pixels at the default text size. */
export function Icon({ name, size = 12 }: { readonly name: IconName; readonly size?: number }) {
  const side = `${size / 16}rem`;
  return (
    <svg class="ic" width={side} height={side} aria-hidden="true">
      <use href={`#i-${name === "full" ? "warn" : name}`} />
    </svg>
  );
}

/** A state as shape, color and word; with `quiet` the word is for screen readers only. */
export function State(props: {
  readonly is: Mark;
  readonly tone?: Mark;
  readonly quiet?: boolean;
  readonly children: ComponentChildren;
}) {
  return (
    <span class={`st st-${props.tone ?? props.is}`}>
      <Icon name={props.is} />
      <span class={props.quiet === true ? "vh" : undefined}>{props.children}</span>
    </span>
  );
}

/** An unknown value, never 0. */
export const Unknown = () => (
  <span class="q" title="not known">
    <span aria-hidden="true">–</span>
    <span class="vh">not known</span>
  </span>
);

export const Loading = () => (
  <span class="q" title="Loading …">
    …
  </span>
);

/** Seats in use and total: `39/298`, or with another separator. */
export function UsedOf(props: {
  readonly used: number | null;
  readonly total: number | null;
  readonly unit?: Unit;
  readonly between?: string;
}) {
  const { used, total, unit = "seats", between = "/" } = props;
  if (used === null) return <Unknown />;
  return (
    <>
      {shortIn(unit)(used)}
      {total !== null && (
        <span class="q">
          {between}
          {shortIn(unit)(total)}
        </span>
      )}
    </>
  );
}

export function Age({ at }: { readonly at: number }) {
  return <>{duration(now.value - at)}</>;
}
