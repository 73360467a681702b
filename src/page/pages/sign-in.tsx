import { useEffect, useRef, useState } from "preact/hooks";
import { loadMe, post, Refusal } from "../api.ts";
import { again, forget } from "../live/live.ts";
import { go, linkTo, page } from "../router.ts";
import { UNREACHABLE } from "../words.ts";

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
    // A sign-in link that is opened on this page changes only the hash and does not load the page.
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
          <h1>Sign in with your key</h1>
        </div>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            const form = new FormData(event.currentTarget);
            void signIn({ key: String(form.get("key")).trim(), stay: form.has("stay") });
          }}
        >
          <div>
            <label for="key">Key</label>
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
            Stay signed in on this browser for 30 days
          </label>
          <button class="btn pri" type="submit" disabled={isBusy}>
            Sign in
          </button>
        </form>
        <div class="help">
          <p>
            <b>No key?</b> Your license administrator can create one, or send you a link that signs you in
            once.
          </p>
          <p>
            On the server: <code>licmond open --role viewer --for 8h</code>
          </p>
        </div>
      </main>
      <footer>
        <span>{location.host}</span>
        <span>This page needs cookies of this host.</span>
      </footer>
    </div>
  );
}

function wordsOf(error: unknown, isCode: boolean): string {
  if (!(error instanceof Refusal)) return UNREACHABLE;
  if (error.status === 401)
    return isCode
      ? "This link was already used or is older than 10 minutes. Request another one, or sign in with a key."
      : "Key not accepted. It may be mistyped, expired or revoked.";
  return error.message;
}
