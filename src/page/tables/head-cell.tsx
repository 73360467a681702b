import { query, setQuery } from "../router.ts";

/** The head of a column that rows can be sorted by. */
export function SortHead(props: {
  readonly order: string;
  /** The order of a table whose address says none. */
  readonly first: string;
  /** Parameter of the address that has the order. */
  readonly name?: string;
  /** Largest first, then smallest first. */
  readonly falls?: boolean;
  /** A cell of a `<table>`. */
  readonly isCell?: boolean;
  readonly class?: string | undefined;
  readonly children: string;
}) {
  const { order, first, name = "sort", isCell = false } = props;
  const sort = query.value.get(name) ?? first;
  const isSorted = sort.replace(/^-/, "") === order;
  const falls = isSorted && sort.startsWith("-");
  const next = (isSorted ? !falls : props.falls === true) ? `-${order}` : order;
  const attributes = {
    class: props.class,
    ...(isSorted && { "aria-sort": falls ? ("descending" as const) : ("ascending" as const) }),
  };
  const button = (
    <button
      type="button"
      class="sort"
      onClick={() => setQuery({ [name]: next === first ? null : next }, true)}
    >
      {props.children}
      {isSorted && (
        <svg width="8" height="8" aria-hidden="true">
          <path class="caret" d={falls ? "M0 2 4 7l4-5Z" : "M0 6 4 1l4 5Z"} />
        </svg>
      )}
    </button>
  );
  if (isCell)
    return (
      <th scope="col" {...attributes}>
        {button}
      </th>
    );
  return (
    <span role="columnheader" {...attributes}>
      {button}
    </span>
  );
}
