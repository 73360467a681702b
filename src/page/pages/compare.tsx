import { byName } from "../format.ts";
import { site } from "../live/live.ts";
import { allFeatures } from "../model.ts";
import { ChartFigure } from "../parts/chart-figure.tsx";
import { PastHead, rangeHere } from "../parts/past-head.tsx";
import { Choice } from "../parts/search-field.tsx";
import { before } from "../range.ts";
import { go, linkTo, query } from "../router.ts";

const MOST_COMPARED = 8;

/** Shows up to eight features on one time scale, optionally with the period before. */
export function Compare() {
  const range = rangeHere("30d");
  const rows = allFeatures(site.value ?? new Map()).sort((a, b) => byName(a.feature.name, b.feature.name));
  const names = new Map(rows.map(({ id, server, feature }) => [id, `${feature.name} (${server.id})`]));
  const chosen = query.value.getAll("feature").slice(0, MOST_COMPARED);
  const to = (feature: readonly string[]) =>
    linkTo("history", { ...Object.fromEntries(query.value), feature: [...feature] });
  const withBefore = query.value.get("before") === "1";
  return (
    <>
      <PastHead range={range}>
        {chosen.map((id) => (
          <a key={id} class="chip" href={to(chosen.filter((each) => each !== id))}>
            {names.get(id) ?? id} <span aria-hidden="true">×</span>
            <span class="vh">remove</span>
          </a>
        ))}
        {chosen.length < MOST_COMPARED && (
          <select
            class="chip"
            aria-label="Add a feature"
            value=""
            onChange={({ currentTarget }) => go(to([...chosen, currentTarget.value]))}
          >
            <option value="">Add a feature</option>
            {[...names]
              .filter(([id]) => !chosen.includes(id))
              .map(([id, name]) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
          </select>
        )}
        <Choice
          name="before"
          any="Period: this one only"
          values={["1"]}
          word={() => "Period: with the previous one"}
        />
      </PastHead>
      {chosen.length === 0 && (
        <p class="sec q">Choose up to 8 features. They share one time scale, each from 0 to its total.</p>
      )}
      {chosen
        .flatMap((id) => rows.find((row) => row.id === id) ?? [])
        .map((row) => (
          <div key={row.id} class={`cols ${withBefore ? "c2" : ""}`}>
            <ChartFigure row={row} range={range} title={row.feature.name} />
            {withBefore && <ChartFigure row={row} range={before(range)} title={row.feature.name} />}
          </div>
        ))}
    </>
  );
}
