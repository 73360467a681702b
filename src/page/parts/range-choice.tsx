import { now } from "../live/live.ts";
import { RANGES, type Range, type RangeWord, rangeInWords, rangeOf, rangeText } from "../range.ts";
import { query, setQuery } from "../router.ts";
import { past } from "../words-past.ts";

/** The range of the address: it stands still while the place is shown. */
export const rangeHere = (otherwise: RangeWord): Range =>
  rangeOf(query.value.get("range"), now.peek(), otherwise);

export const zoom = (start: number, end: number): void => setQuery({ range: rangeText(start, end) }, true);

/** How far back a place looks. */
export function RangeChoice({ range }: { readonly range: Range }) {
  return (
    <div class="range" role="group" aria-label={past.range}>
      {range.word === null && (
        <button type="button" aria-pressed={true}>
          {rangeInWords(range, now.peek())}
        </button>
      )}
      {RANGES.map((word) => (
        <button
          key={word}
          type="button"
          aria-pressed={range.word === word}
          onClick={() => setQuery({ range: word }, true)}
        >
          {past.ranges[word]}
        </button>
      ))}
    </div>
  );
}
