import { effect } from "@preact/signals";
import { type ComponentType, render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { number } from "./format.ts";
import { IS_FLEET, SITE } from "./here.ts";
import { again, site, startLive, trouble } from "./live/live.ts";
import { loadedBytes } from "./live/reader.ts";
import { Overview } from "./pages/overview.tsx";
import { Icon } from "./parts/marks.tsx";
import { PrintFoot } from "./parts/print-foot.tsx";
import { isOfNoSite, page, query, startRouter } from "./router.ts";
import { overlay, startKeys } from "./shell/actions.ts";
import { Dock, Header, Reason } from "./shell/header.tsx";
import { later } from "./shell/later.tsx";
import { isOfFleet, isShown, PLACES } from "./shell/places.ts";
import { cameFree, startWatching } from "./shell/watch.tsx";

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

type Pages = typeof import("./later/pages.ts");
const of = <Name extends keyof Pages>(name: Name) =>
  later(() => import("./later/pages.ts").then((pages) => pages[name] as ComponentType));
const KeyList = of("KeyList");
const Palette = of("Palette");
const NoServers = of("NoServers");
const SignIn = of("SignIn");
const Fleet = of("Fleet");
const PAGES = {
  "": IS_FLEET ? Fleet : Overview,
  features: of("Features"),
  feature: of("Feature"),
  people: of("People"),
  person: of("Person"),
  servers: of("Servers"),
  server: of("Server"),
  alerts: of("Alerts"),
  history: of("History"),
  denials: of("Denials"),
  expiry: of("Expiry"),
  outages: of("Outages"),
  wall: of("Wall"),
  admin: of("Admin"),
  logs: of("Logs"),
  signin: SignIn,
};
/** Parameters that identify the subject of a page. If one of them changes, a new page is mounted. */
const ABOUT: Readonly<Record<string, readonly string[]>> = {
  feature: ["server", "daemon", "name"],
  person: ["user", "host"],
  server: ["id"],
};

const HAVE_PERIOD: readonly string[] = ["feature", "person", "history", "denials", "outages", "expiry"];

function Page() {
  if (IS_FLEET && !isOfFleet(page.value)) return <Fleet />;
  if (site.value?.size === 0 && !IS_FLEET && !isOfNoSite(page.value)) return <NoServers />;
  if (!isShown(page.value))
    return (
      <p class="empty">
        {page.value === "logs"
          ? "The log names people: keys with pseudonyms and visitors without a key cannot read it."
          : "People are not shown here."}
      </p>
    );
  const Shown = PAGES[page.value];
  const about = ABOUT[page.value]?.map((word) => query.value.get(word)) ?? [];
  return <Shown key={[page.value, ...about].join("\n")} />;
}

const skeleton = document.getElementById("skeleton");
const LONG_MS = 3_000;

/** Shown before the first picture: the skeleton of index.html, then the progress. */
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
          {isLong
            ? `Still loading, ${number(Math.ceil(loadedBytes.value / 1000))} KB`
            : "Loading the state of the license servers …"}
        </p>
      </div>
    );
  return (
    <div class="empty" role="alert">
      <p class="st st-crit">
        <Icon name="crit" />
        The state of the license servers cannot be read
      </p>
      <Reason />
      <button class="btn" type="button" onClick={() => void again()}>
        Try again
      </button>
    </div>
  );
}

/**
 * Returns the title: the watched feature that has a free seat, else the subject of the page, else the name
 * of the page.
 */
function titleHere(): string {
  if (cameFree.value !== null) return `● ${cameFree.value.feature.name} is free`;
  const { value: asked } = query;
  const { value } = page;
  const about = {
    feature: asked.get("name"),
    server: asked.get("id"),
    person: asked.get("user") ?? asked.get("host"),
    outages: "Outages",
    signin: "Sign in",
  };
  return about[value as keyof typeof about] ?? PLACES.find(({ path }) => path === value)?.word ?? "";
}

effect(() => {
  const Shown = PAGES[page.value];
  // Load the file of the page at the same time as the picture.
  if ("load" in Shown) Shown.load();
});
effect(() => {
  document.title = `${[titleHere(), ...(SITE === null ? [] : [SITE])].join(" · ")} · licmond`;
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
