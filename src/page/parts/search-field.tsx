import { useEffect, useState } from "preact/hooks";
import { byName, number } from "../format.ts";
import { site } from "../live/live.ts";
import { labelsOf } from "../model.ts";
import { query, setQuery } from "../router.ts";
import { Icon } from "./marks.tsx";

/** Search field of a list. The address keeps its text, and Back returns to the previous text. */
export function SearchField(props: Readonly<{ label: string; hint: string; example?: string }>) {
  return (
    <div class="seek">
      <form class="find" role="search" onSubmit={(event) => event.preventDefault()}>
        <Icon name="find" size={16} />
        <input
          id="search"
          type="search"
          name="q"
          aria-label={props.label}
          placeholder={props.hint}
          autocomplete="off"
          spellcheck={false}
          value={query.value.get("q") ?? ""}
          onInput={({ currentTarget }) => setQuery({ q: currentTarget.value })}
        />
        {props.example !== undefined && (
          <span class="hint" aria-hidden="true">
            {props.example}
          </span>
        )}
        <kbd>/</kbd>
      </form>
    </div>
  );
}

/** A chip that chooses one of several values in the address. `any` is its text if no value is chosen. */
export function Choice(props: {
  readonly name: string;
  readonly label?: string;
  readonly values: readonly string[];
  readonly any?: string;
  readonly word?: (value: string) => string;
}) {
  const { label = "", any = `${label}: any`, word = (value) => `${label}: ${value}` } = props;
  const chosen = query.value.get(props.name) ?? "";
  return (
    <select
      class="chip opt"
      aria-label={any.replace(/:.*/, "")}
      data-chosen={chosen !== ""}
      value={chosen}
      onChange={({ currentTarget }) => setQuery({ [props.name]: currentTarget.value }, true)}
    >
      <option value="">{any}</option>
      {props.values.map((value) => (
        <option key={value} value={value}>
          {word(value)}
        </option>
      ))}
    </select>
  );
}

export const ServerChoice = () => (
  <Choice name="server" label="Server" values={[...(site.value?.keys() ?? [])]} />
);

/** Chooses a label of the servers; hidden without labels. */
export function LabelChoice() {
  const labels = [...new Set([...(site.value?.values() ?? [])].flatMap(labelsOf))].sort(byName);
  if (labels.length === 0) return null;
  return <Choice name="label" label="Label" values={labels} />;
}

/** Minimum number of rows for which a table has a filter. */
const FILTERED = 6;

/** The field that filters a table by text. The address keeps the text as `name`. */
export function Filter(props: Readonly<{ label: string; name: string; found: number; all: number }>) {
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

const SETTLES_MS = 250;

export function useSettled(text: string): string {
  const [settled, settle] = useState(text);
  useEffect(() => {
    const timer = setTimeout(settle, SETTLES_MS, text);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
