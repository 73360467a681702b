import { signal } from "@preact/signals";
import type { PagePath } from "../../domain/words.ts";
import { post } from "../api.ts";
import { moment } from "../format.ts";
import { again, forget, lostSince, now, polledAt, site } from "../live/live.ts";
import { me } from "../me.ts";
import { go, linkTo, page } from "../router.ts";
import { words } from "../words.ts";
import { past } from "../words-past.ts";
import { Age, Icon, type IconName } from "./marks.tsx";

const PAGES: readonly { readonly path: PagePath | ""; readonly word: string; readonly icon?: IconName }[] = [
  { path: "", word: words.features, icon: "find20" },
  { path: "people", word: words.people, icon: "people" },
  { path: "expiry", word: past.expiry },
  { path: "denials", word: past.denials },
  { path: "history", word: past.history, icon: "history" },
];

/** From here on the header's dot does not suffice. */
const TELL_AFTER_MS = 10_000;

/** Pages without a drawing of their own are reached from the one that looks back. */
const IN_HISTORY: readonly string[] = ["outages", "expiry", "denials"];

function Links({ isDock = false }: { readonly isDock?: boolean }) {
  const shown = page.value === "features" || page.value === "feature" ? "" : page.value;
  const pages = PAGES.filter(({ icon }) => icon !== undefined || !isDock);
  const current = !pages.some(({ path }) => path === shown) && IN_HISTORY.includes(shown) ? "history" : shown;
  return pages.map(({ path, word, icon }) => (
    <a key={path} href={linkTo(path)} aria-current={path === current ? "page" : undefined}>
      {icon !== undefined && <Icon name={icon} size={20} />}
      {word}
    </a>
  ));
}

export function Header() {
  return (
    <>
      <a class="skip" href="#main">
        {words.skip}
      </a>
      <header class="top">
        <a class="brand" href={linkTo("")}>
          <svg width="26" height="16" aria-hidden="true">
            <use href="#mark" />
          </svg>
          licmond
        </a>
        <nav class="nav" aria-label={words.pages}>
          <Links />
          <a href="./swagger">{words.api}</a>
        </nav>
        <div class="who">
          <Live />
          <ThemeButton />
          <SignedIn />
        </div>
      </header>
      <NotLive />
    </>
  );
}

/** The pages again, at the bottom of a phone. */
export function Dock() {
  return (
    <nav class="dock" aria-label={words.pages}>
      <Links isDock />
    </nav>
  );
}

function Live() {
  const isLost = lostSince.value !== null;
  const isRead = site.value !== null;
  const word = isLost ? words.offline : isRead ? words.live : words.connecting;
  return (
    <span class={`live ${isLost ? "st-warn" : isRead ? "" : "st-unknown"}`}>
      <Icon name={isLost ? "warn" : isRead ? "ok" : "unknown"} />
      {word}
      {polledAt.value > 0 && (
        <span class="q">
          <Age at={polledAt.value} />
          <span class="vh"> {words.pollOld}</span>
        </span>
      )}
    </span>
  );
}

/** Says from when the page is, once it is not live for a while. */
function NotLive() {
  const since = lostSince.value;
  if (since === null || site.value === null || now.value - since < TELL_AFTER_MS) return null;
  return (
    <div class="bar-note" role="status">
      <Icon name="warn" />
      <span>{words.notLive(moment(since, now.value))}</span>
      <button class="btn s" type="button" onClick={() => void again()}>
        {words.tryAgain}
      </button>
    </div>
  );
}

type Theme = keyof typeof words.themes;
const NEXT: Readonly<Record<Theme, Theme>> = { system: "light", light: "dark", dark: "system" };
const theme = signal<Theme>((document.documentElement.dataset.theme as Theme | undefined) ?? "system");

/** System, light, dark. */
export function nextTheme(): void {
  theme.value = NEXT[theme.value];
  if (theme.value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
  try {
    localStorage.setItem("licmond-theme", theme.value);
  } catch {
    // Storage is off: the theme holds until the page is left.
  }
}

function ThemeButton() {
  const word = words.themes[theme.value];
  return (
    <button class="icon" type="button" aria-label={word} title={word} onClick={nextTheme}>
      <Icon name="theme" size={16} />
    </button>
  );
}

function SignedIn() {
  if (me.value === null) return null;
  const { name, role, signIn, via } = me.value;
  if (via === "public") return <a href={linkTo("signin")}>{words.signIn}</a>;
  const leave = async () => {
    try {
      await post("/api/signout", null);
    } catch {
      // Whether the sign-in has ended by itself or nothing answers, the picture tells.
      return again();
    }
    forget();
    go(linkTo("signin"));
  };
  return (
    <>
      <span class="me">
        {name} <span class="q">{role}</span>
      </span>
      {signIn !== null && (
        <button
          class="icon"
          type="button"
          aria-label={words.signOut}
          title={words.signOut}
          onClick={() => void leave()}
        >
          <Icon name="out" size={16} />
        </button>
      )}
    </>
  );
}
