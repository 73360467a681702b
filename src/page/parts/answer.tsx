import { useEffect, useState } from "preact/hooks";
import { type Answers, get, type Query, Refusal, search } from "../api.ts";
import { words } from "../words.ts";
import { Copy } from "./copy-link.tsx";
import { State } from "./marks.tsx";

/** What came of a question: nothing yet, an answer, or what went wrong. */
interface Asked<T> {
  readonly answer: T | null;
  readonly error: Refusal | "unreachable" | null;
}

/**
 * An answer of the API, none for a query that is null. It is read again when the question or `version` changes, and given up
 * when the place is left.
 */
export function useAnswer<P extends keyof Answers>(
  path: P,
  query: Query | null,
  version = 0,
): Asked<Answers[P]> & { again(): void } {
  const question = search(query ?? {});
  const [asked, setAsked] = useState<Asked<Answers[P]> & { readonly question: string }>();
  const [tries, setTries] = useState(0);
  useEffect(() => {
    if (query === null) return;
    const end = new AbortController();
    get(path, query, end.signal).then(
      (answer) => setAsked({ answer, error: null, question }),
      (error) => {
        if (end.signal.aborted) return;
        setAsked({ answer: null, error: error instanceof Refusal ? error : "unreachable", question });
      },
    );
    return () => end.abort();
  }, [path, question, tries, version]);
  const isOfQuestion = asked?.question === question;
  return {
    answer: isOfQuestion ? asked.answer : null,
    error: isOfQuestion ? asked.error : null,
    again() {
      setAsked(undefined);
      setTries(tries + 1);
    },
  };
}

/** While there is no answer, and why there is none. */
export function Pending({ error, again }: Pick<Asked<never>, "error"> & { readonly again: () => void }) {
  if (error === null) return <p class="empty pending q">{words.loadingPage}</p>;
  const { status, message, details, requestId } =
    error === "unreachable"
      ? { status: 0, message: words.unreachable, details: null, requestId: null }
      : error;
  const isRole = status === 403;
  return (
    <div class="empty pending" role="alert">
      <State is={isRole ? "unknown" : "crit"}>{isRole ? words.notForYou : words.notRead}</State>
      <p>{message}</p>
      {details !== null && <p class="tool-says">{details}</p>}
      {status >= 500 && requestId !== null && (
        <Copy class="link" text={() => requestId} label={words.requestId(requestId)} />
      )}
      {!isRole && (
        <button class="btn s" type="button" onClick={again}>
          {words.tryAgain}
        </button>
      )}
    </div>
  );
}
