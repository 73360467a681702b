import { query, setQuery } from "../router.ts";

/** Head of a sortable column. */
export function SortHead(props: {
  readonly order: string;
  /** Default order of the table. */
  readonly first: string;
  /** Parameter of the address with the order. */
  readonly name?: string;
  /** Sorts largest first at the first click. */
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
