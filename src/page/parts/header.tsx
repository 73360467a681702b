import { effect, signal } from "@preact/signals";
import type { PagePath } from "../../domain/words.ts";
import { post } from "../api.ts";
import { unhandledOf } from "../daily/attention.ts";
import { daily } from "../daily/words.ts";
import { moment, number } from "../format.ts";
import { firing, lastAlert } from "../live/alerts.ts";
import { again, forget, lostSince, now, polledAt, site } from "../live/live.ts";
import { me } from "../me.ts";
import { go, linkTo, page } from "../router.ts";
import { words } from "../words.ts";
import { past } from "../words-past.ts";
import { Age, Icon, type IconName } from "./marks.tsx";

interface Entry {
  readonly path: PagePath | "";
  readonly word: string;
  /** Those with an icon stand at the bottom of a phone, too. */
  readonly icon?: IconName;
  readonly short?: string;
}
const PAGES: readonly Entry[] = [
  { path: "", word: daily.overview, icon: "home", short: daily.home },
  { path: "features", word: words.features, icon: "find20", short: daily.find },
  { path: "people", word: words.people, icon: "people" },
  { path: "servers", word: daily.serversPage },
  { path: "expiry", word: past.expiry },
  { path: "denials", word: past.denials },
  { path: "history", word: past.history },
  { path: "alerts", word: daily.alertsPage, icon: "alert" },
];
/** The page that a page belongs to. */
const WITHIN: Readonly<Partial<Record<PagePath | "", PagePath>>> = {
  feature: "features",
  server: "servers",
  outages: "history",
};
/** Pages with a search of their own. */
const SEARCHES: readonly (PagePath | "")[] = ["features", "people", "servers"];

/** From here on the header's dot does not suffice. */
const TELL_AFTER_MS = 10_000;

function Links({ isDock = false }) {
  const current = WITHIN[page.value] ?? page.value;
  return PAGES.filter(({ icon }) => !isDock || icon !== undefined).map(({ path, word, icon, short }) => (
    <a key={path} href={linkTo(path)} aria-current={path === current ? "page" : undefined}>
      {icon !== undefined && <Icon name={icon} size={20} />}
      {isDock ? (short ?? word) : word}
      {path === "alerts" && <Firing />}
    </a>
  ));
}

const MOST_COUNTED = 999;

/** How many alerts fire; red while a critical one waits for somebody to take note. */
function Firing() {
  const all = [...(firing.value?.values() ?? [])];
  if (all.length === 0) return null;
  const { worst } = unhandledOf(all, now.value);
  return (
    <b class={worst === "critical" ? "n-crit" : worst === null ? "q" : "n-full"}>
      {all.length > MOST_COUNTED ? `${number(MOST_COUNTED)}+` : number(all.length)}
      <span class="vh"> {daily.firingWord}</span>
    </b>
  );
}

/** On pages without a list to search: leads to the features. */
function Find() {
  return (
    <form
      class="find"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        const asked = String(new FormData(event.currentTarget).get("q")).trim();
        go(linkTo("features", asked === "" ? {} : { q: asked }));
      }}
    >
      <Icon name="find" size={16} />
      <input
        id="search"
        type="search"
        name="q"
        aria-label={daily.search}
        placeholder={daily.searchHint}
        autocomplete="off"
        spellcheck={false}
      />
      <kbd>/</kbd>
    </form>
  );
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
        {!SEARCHES.includes(page.value) && <Find />}
        <nav class="nav" aria-label={words.pages}>
          <Links />
          <a class="api" href="./swagger">
            {words.api}
          </a>
        </nav>
        <div class="who">
          <Live />
          <ThemeButton />
          <SignedIn />
        </div>
      </header>
      <NotLive />
      <p class="vh" role="status">
        {begun.value}
      </p>
    </>
  );
}

const SPEAKS_EVERY_MS = 10_000;
const begun = signal("");
let spokenAt = Number.NEGATIVE_INFINITY;
// For readers of screens: an alert that begins, seldom enough to listen to.
effect(() => {
  const alert = lastAlert.value;
  if (alert?.change !== "fired" || performance.now() - spokenAt < SPEAKS_EVERY_MS) return;
  spokenAt = performance.now();
  begun.value = daily.begins(alert.message);
});

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
