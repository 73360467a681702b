import { signal } from "@preact/signals";
import { moment } from "../format.ts";
import { lostSince, now } from "../live/live.ts";
import { type Range, rangeInWords } from "../range.ts";
import { query } from "../router.ts";

/**
 * Footer of every printed sheet: period, filters, time of printing, and address. `range` is null if the
 * page shows the current state.
 */
export function PrintFoot({ range }: Readonly<{ range: Range | null }>) {
  const filter = [...query.value].filter(([name]) => name !== "range");
  const parts = [
    range === null
      ? `as of ${moment(lostSince.value ?? now.value, 0)}`
      : rangeInWords({ ...range, end: Math.min(range.end, now.peek()) }, now.value),
    ...filter.map(([name, value]) => `${name}: ${value}`),
    `printed ${moment(now.value, 0)}`,
    location.href,
  ];
  return (
    <div class="on-paper">
      <p class="sec">
        {parts.map((part, at) => (
          <bdi key={part}>
            {at > 0 && " · "}
            {part}
          </bdi>
        ))}
      </p>
    </div>
  );
}

/** True while the page is printed. Lists then show every row, not only those that fit the window. */
export const isOnPaper = signal(false);
for (const when of ["beforeprint", "afterprint"])
  addEventListener(when, () => {
    isOnPaper.value = when === "beforeprint";
  });
