import { query, setQuery } from "../router.ts";

/** The head of a column that rows can be sorted by. `first`: the order of a table whose address says none. */
export function SortHead(props: {
  readonly order: string;
  readonly first: string;
  readonly class?: string | undefined;
  readonly children: string;
}) {
  const sort = query.value.get("sort") ?? props.first;
  const isSorted = sort.replace(/^-/, "") === props.order;
  const falls = isSorted && sort.startsWith("-");
  const next = isSorted && !falls ? `-${props.order}` : props.order;
  return (
    <span
      role="columnheader"
      class={props.class}
      {...(isSorted && { "aria-sort": falls ? ("descending" as const) : ("ascending" as const) })}
    >
      <button type="button" onClick={() => setQuery({ sort: next === props.first ? null : next }, true)}>
        {props.children}
        {isSorted && (
          <svg width="8" height="8" aria-hidden="true">
            <path class="caret" d={falls ? "M0 2 4 7l4-5Z" : "M0 6 4 1l4 5Z"} />
          </svg>
        )}
      </button>
    </span>
  );
}
