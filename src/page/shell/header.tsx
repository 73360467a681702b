import { effect, signal } from "@preact/signals";
import type { SiteRecord } from "../../domain/service/sites.ts";
import { me, waitsUntil } from "../api.ts";
import { duration, moment, number } from "../format.ts";
import { IS_FLEET, IS_HUB, SITE } from "../here.ts";
import { firing, lastAlert, unhandledOf } from "../live/alerts.ts";
import { firingCount, standing } from "../live/hub.ts";
import {
  again,
  isFetching,
  isOpen,
  isOutdated,
  lostSince,
  now,
  polledAt,
  site,
  trouble,
} from "../live/live.ts";
import { Copy } from "../parts/answer.tsx";
import { Age, Icon, type IconName } from "../parts/marks.tsx";
import { linkTo, page } from "../router.ts";
import { UNREACHABLE } from "../words.ts";
import { nextTheme, overlay, signOut, theme } from "./actions.ts";
import { isShown, PLACES, WITHIN } from "./places.ts";
import { FreeNote, Note } from "./watch.tsx";

const SEARCHED: readonly string[] = [...(IS_FLEET ? [""] : []), "features", "people", "servers"];
/** Duration of an interruption after which a bar reports it, too. Before, only the header's dot shows it. */
const TELL_AFTER_MS = 10_000;

function Links({ isDock = false }) {
  const current = page.value === "outages" ? "history" : (WITHIN[page.value] ?? page.value);
  const places = PLACES.filter(
    ({ path, icon, isAside }) => isShown(path) && (isDock ? icon !== undefined : isAside !== true),
  );
  return places.map(({ path, word, icon, short }) => (
    <a key={path} href={linkTo(path)} aria-current={path === current ? "page" : undefined}>
      {icon !== undefined && <Icon name={icon} size={20} />}
      {isDock ? (short ?? word) : word}
      {path === "alerts" && <Firing />}
    </a>
  ));
}

const MOST_COUNTED = 999;

function Firing() {
  const all = [...(firing.value?.values() ?? [])];
  const count = firingCount.value ?? 0;
  if (count === 0) return null;
  const { worst } = unhandledOf(all, now.value);
  return (
    <b class={worst === null ? "q" : `n-${worst}`}>
      {count > MOST_COUNTED ? `${number(MOST_COUNTED)}+` : number(count)}
      <span class="vh"> firing</span>
    </b>
  );
}

export function Header() {
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href="./">
          <svg width="26" height="16" aria-hidden="true">
            <use href="#mark" />
          </svg>
          licmond
        </a>
        {IS_HUB && <SiteButton />}
        {!SEARCHED.includes(page.value) && <PaletteButton />}
        <nav class="nav" aria-label="Pages">
          <Links />
          <a class="api" href="./swagger">
            API
          </a>
        </nav>
        <div class="who">
          <Live />
          <IconButton label={`Theme: ${theme.value}`} icon="theme" act={nextTheme} />
          <SignedIn />
        </div>
      </header>
      <Notes />
      <FreeNote />
      <p class="vh" role="status">
        {begun.value}
      </p>
    </>
  );
}

const SPEAKS_EVERY_MS = 10_000;
const begun = signal("");
let spokenAt = Number.NEGATIVE_INFINITY;
effect(() => {
  const alert = lastAlert.value;
  if (alert?.change !== "fired" || performance.now() - spokenAt < SPEAKS_EVERY_MS) return;
  spokenAt = performance.now();
  begun.value = `New alert: ${alert.message}`;
});

export function Dock() {
  return (
    <nav class="dock" aria-label="Pages">
      <Links isDock />
      <button type="button" onClick={() => show("palette")}>
        <Icon name="more" size={20} />
        More
      </button>
    </nav>
  );
}

/** Reports whether an interruption is too long for the header's dot alone. */
const isLong = (since: number) => now.value - since >= TELL_AFTER_MS;

export function Live() {
  const since = lostSince.value;
  const [icon, word] =
    standing.value?.state === "silent" && since === null
      ? (["stale", "silent"] as const)
      : since !== null
        ? (["warn", isLong(since) ? "offline" : "reconnecting"] as const)
        : isFetching.value
          ? (["partial", "every 30 s"] as const)
          : site.value !== null && (isOpen.value || IS_FLEET)
            ? (["ok", "live"] as const)
            : (["unknown", "connecting"] as const);
  return (
    <span class={`live st st-${icon}`}>
      <Icon name={icon} />
      {word}
      {polledAt.value > 0 && (
        <span class="q">
          <Age at={polledAt.value} />
          <span class="vh"> since the last poll</span>
        </span>
      )}
    </span>
  );
}

function Notes() {
  const since = lostSince.value;
  const wait = waitsUntil.value - now.value;
  const isLost = since !== null && site.value !== null && isLong(since);
  return (
    <>
      {isLost && (
        <Note icon="warn" button="Try again" act={() => void again()}>
          <span>
            <b>Disconnected since {moment(since, now.value)}.</b> Showing the last known data.
          </span>
          <Reason />
        </Note>
      )}
      {standing.value?.state === "silent" && <Note icon="stale">{silenceOf(standing.value)}</Note>}
      {isFetching.value && (
        <Note icon="partial">
          Live updates do not get through, perhaps because of a proxy. The page refreshes every 30 s.
        </Note>
      )}
      {wait > 0 && (
        <Note icon="warn">{`Too many requests for this key: retrying in ${duration(wait + 999)}.`}</Note>
      )}
      {isOutdated.value && (
        <Note icon="partial" button="Reload" act={() => location.reload()}>
          licmond was upgraded; this page is from the previous version.
        </Note>
      )}
    </>
  );
}

function silenceOf({ site, lastPushAt, stoppedAt }: SiteRecord): string {
  if (stoppedAt !== null)
    return `${site} was stopped at ${moment(Date.parse(stoppedAt), now.value)}. Showing the last known data.`;
  if (lastPushAt === null) return `${site} is silent: the hub has never heard from it.`;
  return `${site} is silent: last contact with the hub ${moment(Date.parse(lastPushAt), now.value)}. Showing the last known data.`;
}

/** Shows why the picture cannot be read, with the daemon's message and request id. */
export function Reason() {
  const { value } = trouble;
  if (value === null || value === "signedOut") return null;
  if (value === "unreachable") return <span>{UNREACHABLE}</span>;
  return (
    <>
      <span>{value.message}</span>
      {value.requestId !== null && (
        <Copy text={() => value.requestId ?? ""} label={`Request ${value.requestId}`} />
      )}
    </>
  );
}

function IconButton({ label, icon, act }: Readonly<{ label: string; icon: IconName; act: () => void }>) {
  return (
    <button class="icon" type="button" aria-label={label} title={label} onClick={act}>
      <Icon name={icon} size={16} />
    </button>
  );
}

function SignedIn() {
  if (me.value === null) return null;
  const { name, role, signIn, via } = me.value;
  if (via === "public") return <a href={linkTo("signin")}>Sign in</a>;
  return (
    <>
      <span class="me">
        {name} <span class="q">{role}</span>
      </span>
      <a class="icon" href={linkTo("admin")} aria-label="Administration" title="Administration">
        <Icon name="admin" size={16} />
      </a>
      {signIn !== null && <IconButton label="Sign out" icon="out" act={() => void signOut()} />}
    </>
  );
}

function PaletteButton() {
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

function SiteButton() {
  return (
    <button class="chip site" type="button" onClick={() => show("sites")}>
      <span class="vh">{"Site: "}</span>
      <b class="el">{SITE ?? "All sites"}</b>
    </button>
  );
}
