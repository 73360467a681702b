import { signal } from "@preact/signals";
import { keep, kept } from "../storage.ts";
import { words } from "../words.ts";

/** Columns of the list of features, with their widths; those with a word can be left out. */
const WIDTHS = [
  ["name", "minmax(170px, 1.3fr)"],
  ["server", "76px"],
  ["daemon", "minmax(76px, 0.55fr)", words.columns.daemon],
  ["seats", "184px"],
  ["note", "92px"],
  ["used", "72px"],
  ["free", "60px"],
  ["peak", "84px", words.columns.peak],
  ["denied", "84px", words.columns.denied],
  ["expires", "minmax(116px, 0.8fr)", words.columns.expires],
  ["age", "84px", words.columns.age],
] as const;

const hidden = signal<readonly string[]>((kept("hidden-columns") ?? "").split(" ").filter(Boolean));
export const isHidden = (column: string) => hidden.value.includes(column);

/** For the table: which columns it leaves out, and the widths of the others. */
export const columnProps = () => ({
  "data-hide": hidden.value.join(" "),
  style: {
    "--cols": WIDTHS.filter(([column]) => !isHidden(column))
      .map(([, width]) => width)
      .join(" "),
  },
});

/** What is chosen is kept in this browser. */
export function ColumnChoice() {
  const choose = (column: string, on: boolean) => {
    hidden.value = on ? hidden.value.filter((each) => each !== column) : [...hidden.value, column];
    keep("hidden-columns", hidden.value.join(" ") || null);
  };
  return (
    <details
      class="pick wide"
      onKeyDown={({ key, currentTarget }) => {
        if (key === "Escape") currentTarget.open = false;
      }}
      onFocusOut={({ relatedTarget, currentTarget }) => {
        if (!currentTarget.contains(relatedTarget as Node | null)) currentTarget.open = false;
      }}
    >
      <summary class="btn">{words.chooseColumns}</summary>
      <fieldset tabIndex={-1}>
        <legend class="vh">{words.chooseColumns}</legend>
        {WIDTHS.flatMap(([column, , word]) =>
          word === undefined ? (
            []
          ) : (
            <label key={column}>
              <input
                type="checkbox"
                checked={!isHidden(column)}
                onChange={({ currentTarget }) => choose(column, currentTarget.checked)}
              />
              {word}
            </label>
          ),
        )}
      </fieldset>
    </details>
  );
}
