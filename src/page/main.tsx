import { effect } from "@preact/signals";
import { render } from "preact";
import { again, forget, site, startLive, trouble } from "./live/live.ts";
import { loadMe } from "./me.ts";
import { Denials } from "./pages/denials.tsx";
import { Expiry } from "./pages/expiry.tsx";
import { Feature } from "./pages/feature.tsx";
import { Features } from "./pages/features.tsx";
import { History } from "./pages/history.tsx";
import { Outages } from "./pages/outages.tsx";
import { People } from "./pages/people.tsx";
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

function Page() {
  if (site.value?.size === 0) return <NoServers />;
  if (page.value === "feature") return <Feature key={featureHere()} />;
  if (page.value === "people") return <People />;
  if (page.value === "history") return <History />;
  if (page.value === "denials") return <Denials />;
  if (page.value === "expiry") return <Expiry />;
  return page.value === "outages" ? <Outages /> : <Features />;
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

function NoServers() {
  return (
    <div class="empty">
      <h1>{words.noServers}</h1>
      <p>{words.howToBegin}</p>
      <p>
        <code>licmond probe 27000@license-server</code>
      </p>
    </div>
  );
}

effect(() => {
  const name = page.value === "feature" ? query.value.get("name") : null;
  document.title = words.title(
    name ??
      {
        "": words.features,
        features: words.features,
        feature: "",
        people: words.people,
        history: past.history,
        denials: past.denials,
        expiry: past.expiry,
        outages: past.outages,
        signin: words.signIn,
      }[page.value],
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
