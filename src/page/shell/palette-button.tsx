import { SITE } from "../here.ts";
import { Icon } from "../parts/marks.tsx";
import { overlay } from "./actions.ts";

/** Shown on pages without a search field. */
export function PaletteButton() {
  return (
    <button class="find ask" type="button" onClick={() => show("palette")}>
      <Icon name="find" size={16} />
      <span class="el">Search features, people, hosts</span>
      <kbd>/</kbd>
    </button>
  );
}

export const show = (what: typeof overlay.value) => {
  overlay.value = what;
};

/** Opens the list of the fleet's sites. */
export function SiteButton() {
  return (
    <button class="chip site" type="button" onClick={() => show("sites")}>
      <span class="vh">{"Site: "}</span>
      <b class="el">{SITE ?? "All sites"}</b>
    </button>
  );
}
