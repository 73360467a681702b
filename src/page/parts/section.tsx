import type { ComponentChildren } from "preact";
import type { Place } from "../model.ts";
import { hrefOf } from "../router.ts";

/** A section with its head and a link to the full list. */
export function Section(props: {
  readonly title: string;
  readonly note?: ComponentChildren;
  readonly more?: readonly [word: string, to: Place] | false;
  readonly children?: ComponentChildren;
}) {
  const { title, note, more = false } = props;
  return (
    <section class="sec">
      <header>
        <h2>{title}</h2>
        {note !== undefined && <span class="q">{note}</span>}
        {more !== false && (
          <a class="more" href={hrefOf(more[1])}>
            {more[0]}
          </a>
        )}
      </header>
      {props.children}
    </section>
  );
}
