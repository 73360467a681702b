import type { ComponentChildren } from "preact";
import type { Unit } from "../../domain/words.ts";
import { duration, shortIn } from "../format.ts";
import { now } from "../live/live.ts";
import { words } from "../words.ts";

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

/** A drawing of the sprite in index.html. `size`: pixels at the usual text size. */
export function Icon({ name, size = 12 }: { readonly name: IconName; readonly size?: number }) {
  const side = `${size / 16}rem`;
  return (
    <svg class="ic" width={side} height={side} aria-hidden="true">
      <use href={`#i-${name === "full" ? "warn" : name}`} />
    </svg>
  );
}

/** A state: shape, colour, and a word that is always there, for readers of screens alone where `quiet`. */
export function State(props: {
  readonly is: Mark;
  /** Has the colour of another state. */
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

/** Something that is not known: never 0. */
export const Unknown = () => (
  <span class="q" title={words.notKnown}>
    <span aria-hidden="true">–</span>
    <span class="vh">{words.notKnown}</span>
  </span>
);

/** Of a figure that is still being read. */
export const Loading = () => (
  <span class="q" title={words.loadingPage}>
    …
  </span>
);

/** Seats in use, and of how many where there are so many: `39/298`, or with other words between. */
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

/** How long ago that was; counts on by itself. */
export function Age({ at }: { readonly at: number }) {
  return <>{duration(now.value - at)}</>;
}
