import { useEffect, useRef, useState } from "preact/hooks";
import { post, Refusal } from "../api.ts";
import { again, forget } from "../live/live.ts";
import { loadMe } from "../me.ts";
import { go, linkTo, page } from "../router.ts";
import { words } from "../words-pages.ts";

/** Exchanges a key, or the one-time code after `#code=`, for a cookie. */
export function SignIn() {
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);

  const signIn = async (body: { key: string; stay: boolean } | { code: string }) => {
    setBusy(true);
    setProblem(null);
    try {
      await post("/api/signin", body);
      // An open stream may belong to another viewer.
      forget();
      await loadMe();
      await again();
      if (page.value === "signin") go(linkTo(""));
    } catch (error) {
      setProblem(wordsOf(error, "code" in body));
      field.current?.focus();
    } finally {
      setBusy(false);
    }
  };

  useEffect(() => {
    field.current?.focus();
    const useCode = () => {
      const code = new URLSearchParams(location.hash.slice(1)).get("code");
      if (code === null) return;
      // The code works once; remove it from the address.
      history.replaceState(null, "", location.pathname + location.search);
      void signIn({ code });
    };
    useCode();
    // A link that is opened on this page does not load it again.
    addEventListener("hashchange", useCode);
    return () => removeEventListener("hashchange", useCode);
  }, []);

  return (
    <div class="in">
      <main id="main">
        <div>
          <span class="brand">
            <svg width="39" height="24" viewBox="0 0 26 16" aria-hidden="true">
              <use href="#mark" />
            </svg>
            licmond
          </span>
          <h1>{words.signInHead}</h1>
        </div>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            const form = new FormData(event.currentTarget);
            void signIn({ key: String(form.get("key")).trim(), stay: form.has("stay") });
          }}
        >
          <div>
            <label for="key">{words.key}</label>
            <input
              ref={field}
              id="key"
              name="key"
              type="password"
              required
              autocomplete="current-password"
              placeholder="lmk_…"
              spellcheck={false}
              aria-describedby="problem"
            />
            <p id="problem" class="problem st-crit" role="alert">
              {problem}
            </p>
          </div>
          <label class="tick">
            <input name="stay" type="checkbox" checked />
            {words.stay}
          </label>
          <button class="btn pri" type="submit" disabled={isBusy}>
            {words.signIn}
          </button>
        </form>
        <div class="help">
          <p>
            <b>{words.noKey}</b> {words.whoMakesKeys}
          </p>
          <p>
            {words.onTheServer} <code>licmond open --role viewer --for 8h</code>
          </p>
        </div>
      </main>
      <footer>
        <span>{location.host}</span>
        <span>{words.hostAlone}</span>
      </footer>
    </div>
  );
}

function wordsOf(error: unknown, isCode: boolean): string {
  if (!(error instanceof Refusal)) return words.unreachable;
  if (error.status === 401) return isCode ? words.codeRefused : words.keyRefused;
  return error.message;
}
