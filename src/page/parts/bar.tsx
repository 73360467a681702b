import type { PictureFeature } from "../../domain/polls/kept-picture.ts";
import { ALL, type Part, partsOf, WIDTH } from "../seats.ts";
import { seatsInWords } from "../words.ts";

const HEIGHT = 12;
/** Parts that have a line around them, which takes half a pixel at each side. */
const OUTLINED = new Set<Part["kind"]>(["r", "e", "s", "es", "w"]);
const round = (value: number) => Math.round(value * 10) / 10;

export function SeatBar({ feature }: { readonly feature: PictureFeature }) {
  const isOpen = feature.unlimited || feature.total === null;
  return (
    <svg
      class="seats"
      role="img"
      aria-label={seatsInWords(feature)}
      width={ALL}
      height={HEIGHT}
      viewBox={`0 0 ${ALL} ${HEIGHT}`}
      preserveAspectRatio="xMinYMid"
    >
      {isOpen && <path class="inf" d={`M.5 6H${WIDTH - 0.5}`} />}
      {isOpen && (feature.used ?? 0) > 0 && <rect class="u" x="0" y="0" width="93" height={HEIGHT} rx="1" />}
      {partsOf(feature).map(({ kind, x, width }, at) => {
        const line = OUTLINED.has(kind) ? 0.5 : 0;
        return (
          <rect
            key={at}
            class={kind === "es" ? "e es" : kind}
            x={round(x + line)}
            y={line}
            width={round(Math.max(0.5, width - 2 * line))}
            height={HEIGHT - 2 * line}
            rx="1"
          />
        );
      })}
    </svg>
  );
}
