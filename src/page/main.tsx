import { effect } from "@preact/signals";
import { render } from "preact";
import { daily } from "./daily/words.ts";
import { again, forget, site, startLive, trouble } from "./live/live.ts";
import { loadMe } from "./me.ts";
import { Alerts } from "./pages/alerts.tsx";
import { Denials } from "./pages/denials.tsx";
import { Expiry } from "./pages/expiry.tsx";
import { Feature } from "./pages/feature.tsx";
import { Features } from "./pages/features.tsx";
import { History } from "./pages/history.tsx";
import { Outages } from "./pages/outages.tsx";
import { Overview } from "./pages/overview.tsx";
import { People } from "./pages/people.tsx";
import { Server } from "./pages/server.tsx";
import { Servers } from "./pages/servers.tsx";
import { SignIn } from "./pages/sign-in.tsx";
import { Dock, Header } from "./parts/header.tsx";
import { startKeys } from "./parts/keys.ts";
import { Icon } from "./parts/marks.tsx";
import { page, query, startRouter } from "./router.ts";
import { words } from "./words.ts";
import { past } from "./words-past.ts";

function App() {
  if (page.value === "signin" || trouble.value === "signedOut") return <SignIn />;
  return (
    <>
      <Header />
      <main id="main" tabIndex={-1}>
        {site.value === null ? <NotRead /> : <Page />}
      </main>
      <Dock />
    </>
  );
}

const PAGES = {
  "": Overview,
  features: Features,
  people: People,
  servers: Servers,
  alerts: Alerts,
  history: History,
  denials: Denials,
  expiry: Expiry,
  outages: Outages,
};

function Page() {
  if (site.value?.size === 0) return <NoServers />;
  if (page.value === "feature") return <Feature key={featureHere()} />;
  if (page.value === "server") return <Server key={query.value.get("id")} />;
  const Shown = PAGES[page.value as keyof typeof PAGES] ?? Overview;
  return <Shown />;
}

const featureHere = () => ["server", "daemon", "name"].map((word) => query.value.get(word)).join("\n");

/** Before the first picture. */
function NotRead() {
  const { value } = trouble;
  if (value === null || value === "signedOut") return <p class="empty q">{words.stillLoading}</p>;
  return (
    <div class="empty" role="alert">
      <p class="st st-crit">
        <Icon name="crit" />
        {words.failed}
      </p>
      <p>{value === "unreachable" ? words.unreachable : value.message}</p>
      {value !== "unreachable" && value.requestId !== null && (
        <p class="q m">{words.requestId(value.requestId)}</p>
      )}
      <button class="btn" type="button" onClick={() => void again()}>
        {words.tryAgain}
      </button>
    </div>
  );
}

const EXAMPLE = `[[servers]]
id = "eda"
manager = "flexnet"                 # or rlm
address = "27000@license-server"
tool = "/opt/flexnet/lmutil"        # the vendor's lmutil or rlmutil`;

function NoServers() {
  return (
    <div class="empty">
      <h1>{words.noServers}</h1>
      <p>{daily.addServer}</p>
      <pre class="m">{EXAMPLE}</pre>
      <p>{daily.thenCheck}</p>
      <pre class="m">
        {"licmond probe flexnet 27000@license-server --tool /opt/flexnet/lmutil\nsystemctl reload licmond"}
      </pre>
      <p class="q">{daily.docs}</p>
    </div>
  );
}

effect(() => {
  const { value } = page;
  const name =
    value === "feature" ? query.value.get("name") : value === "server" ? query.value.get("id") : null;
  document.title = words.title(
    name ??
      {
        "": daily.overview,
        features: words.features,
        feature: "",
        people: words.people,
        history: past.history,
        denials: past.denials,
        expiry: past.expiry,
        outages: past.outages,
        servers: daily.serversPage,
        server: "",
        alerts: daily.alertsPage,
        signin: words.signIn,
      }[value],
  );
});
startRouter();
startKeys();
void loadMe().then((isSomebody) => (isSomebody ? startLive() : forget()));
const root = document.getElementById("app");
if (root !== null) {
  root.textContent = "";
  render(<App />, root);
}
