import { number } from "../format.ts";
import { query, setQuery } from "../router.ts";

/** A table of fewer rows needs no filter. */
const FILTERED = 6;

/** The field that filters a table by text; the address has the text as `name`. */
export function Filter(props: {
  readonly label: string;
  readonly name: string;
  /** Rows that have the text, and all rows. */
  readonly found: number;
  readonly all: number;
}) {
  const { label, name, found, all } = props;
  const search = query.value.get(name) ?? "";
  if (all < FILTERED && search === "") return null;
  return (
    <p class="filter">
      <span class="q" role="status">
        {search !== "" && `${number(found)} of ${number(all)}`}
      </span>
      <input
        type="search"
        aria-label={`Filter: ${label}`}
        placeholder="Filter"
        autocomplete="off"
        spellcheck={false}
        value={search}
        onInput={({ currentTarget }) => setQuery({ [name]: currentTarget.value })}
      />
    </p>
  );
}
