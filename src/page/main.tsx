import { effect } from "@preact/signals";
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { number } from "./format.ts";
import { IS_FLEET, SITE } from "./here.ts";
import { again, site, startLive, trouble } from "./live/live.ts";
import { loadedBytes } from "./live/read-picture.ts";
import { Features } from "./pages/features.tsx";
import { People } from "./pages/people.tsx";
import { Icon } from "./parts/marks.tsx";
import { PrintFoot } from "./parts/print-foot.tsx";
import { isOfNoSite, page, query, startRouter } from "./router.ts";
import { overlay } from "./shell/actions.ts";
import { Dock, Header, Reason } from "./shell/header.tsx";
import { startKeys } from "./shell/keys.ts";
import { later } from "./shell/later.tsx";
import { Palette } from "./shell/palette.tsx";
import { isOfFleet, isShown, PLACES } from "./shell/places.ts";
import { cameFree, startWatching } from "./shell/watch.ts";
import { words } from "./words.ts";

function App() {
  if (page.value === "signin" || trouble.value === "signedOut") return <SignIn />;
  return (
    <>
      {page.value !== "wall" && <Header />}
      <main id="main" tabIndex={-1}>
        {site.value === null ? <NotRead /> : <Page />}
        {!HAVE_PERIOD.includes(page.value) && <PrintFoot range={null} />}
      </main>
      {page.value !== "wall" && <Dock />}
      {(overlay.value === "palette" || overlay.value === "sites") && <Palette key={overlay.value} />}
      {overlay.value === "keys" && <KeyList />}
    </>
  );
}

const KeyList = later(() => import("./shell/key-list.tsx").then(({ KeyList }) => KeyList));
const SignIn = later(() => import("./pages/sign-in.tsx").then(({ SignIn }) => SignIn));
const NoServers = later(() => import("./pages/no-servers.tsx").then(({ NoServers }) => NoServers));
const Fleet = later(() => import("./fleet/fleet.tsx").then(({ Fleet }) => Fleet));
const today = (name: keyof typeof import("./pages/today.ts")) =>
  later(() => import("./pages/today.ts").then((pages) => pages[name]));
const past = (name: keyof typeof import("./pages/past.ts")) =>
  later(() => import("./pages/past.ts").then((pages) => pages[name]));
const admin = (name: keyof typeof import("./admin/pages.ts")) =>
  later(() => import("./admin/pages.ts").then((pages) => pages[name]));
/** The lists that are searched come at once; the others when they are shown. */
const PAGES = {
  "": IS_FLEET ? Fleet : today("Overview"),
  features: Features,
  feature: later(() => import("./pages/feature.tsx").then(({ Feature }) => Feature)),
  people: People,
  person: past("Person"),
  servers: today("Servers"),
  server: today("Server"),
  alerts: today("Alerts"),
  history: past("History"),
  denials: past("Denials"),
  expiry: past("Expiry"),
  outages: past("Outages"),
  wall: today("Wall"),
  admin: admin("Admin"),
  logs: admin("Logs"),
  signin: SignIn,
};
/** What a page is about, by its address: another one begins anew. */
const ABOUT: Readonly<Record<string, readonly string[]>> = {
  feature: ["server", "daemon", "name"],
  person: ["user", "host"],
  server: ["id"],
};

/** These say on paper which period they are of. */
const HAVE_PERIOD: readonly string[] = ["feature", "person", "history", "denials", "outages", "expiry"];

function Page() {
  if (IS_FLEET && !isOfFleet(page.value)) return <Fleet />;
  if (site.value?.size === 0 && !IS_FLEET && !isOfNoSite(page.value)) return <NoServers />;
  if (!isShown(page.value))
    return <p class="empty">{page.value === "logs" ? words.noLogs : words.noPeople}</p>;
  const Shown = PAGES[page.value];
  const about = ABOUT[page.value]?.map((word) => query.value.get(word)) ?? [];
  return <Shown key={[page.value, ...about].join("\n")} />;
}

const skeleton = document.getElementById("skeleton");
const LONG_MS = 3_000;

/** Before the first picture: what index.html has, then how far it is. */
function NotRead() {
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLong(true), LONG_MS);
    return () => clearTimeout(timer);
  }, []);
  if (trouble.value === null || trouble.value === "signedOut")
    return (
      <div ref={(box) => void (skeleton && box?.append(skeleton))}>
        <p class={isLong ? "still" : "vh"} role="status">
          {isLong ? words.stillLoading(number(Math.ceil(loadedBytes.value / 1000))) : words.loading}
        </p>
      </div>
    );
  return (
    <div class="empty" role="alert">
      <p class="st st-crit">
        <Icon name="crit" />
        {words.failed}
      </p>
      <Reason />
      <button class="btn" type="button" onClick={() => void again()}>
        {words.tryAgain}
      </button>
    </div>
  );
}

/** What the title says: what came free, else whom or what the page is about, else its name. */
function titleHere(): string {
  if (cameFree.value !== null) return `● ${words.isFree(cameFree.value.feature.name)}`;
  const { value: asked } = query;
  const { value } = page;
  const about = {
    feature: asked.get("name"),
    server: asked.get("id"),
    person: asked.get("user") ?? asked.get("host"),
    outages: words.outages,
    signin: words.signIn,
  };
  return about[value as keyof typeof about] ?? PLACES.find(({ path }) => path === value)?.word ?? "";
}

effect(() => {
  const Shown = PAGES[page.value];
  // Its file comes beside the picture, not after it.
  if ("load" in Shown) Shown.load();
});
effect(() => {
  document.title = words.title([titleHere(), ...(SITE === null ? [] : [SITE])].join(" · "));
});
startRouter();
startKeys();
startWatching();
void startLive();
const root = document.getElementById("app");
if (root !== null) {
  root.textContent = "";
  render(<App />, root);
}
