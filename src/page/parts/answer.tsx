import { useEffect, useState } from "preact/hooks";
import { type Answers, get, type Query, Refusal, search } from "../api.ts";
import { UNREACHABLE } from "../words.ts";
import { State } from "./marks.tsx";

type Asked<T> = Readonly<{ answer: T | null; error: Refusal | "unreachable" | null }>;

/**
 * Requests an answer of the API, or nothing if the query is null. A changed query or `version` requests the
 * answer again.
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

export function Pending({ error, again }: Pick<Asked<never>, "error"> & { readonly again: () => void }) {
  if (error === null) return <p class="empty pending q">Loading …</p>;
  const { status, message, details, requestId } =
    error === "unreachable" ? { status: 0, message: UNREACHABLE, details: null, requestId: null } : error;
  const isRole = status === 403;
  return (
    <div class="empty pending" role="alert">
      <State is={isRole ? "unknown" : "crit"}>
        {isRole ? "Your role may not see this" : "Cannot be loaded"}
      </State>
      <p>{message}</p>
      {details !== null && <p class="tool-says">{details}</p>}
      {status >= 500 && requestId !== null && (
        <Copy class="link" text={() => requestId} label={`Request ${requestId}`} />
      )}
      {!isRole && (
        <button class="btn s" type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Copies a text. Over plain HTTP, browsers offer no clipboard, so the text is shown and selected instead. */
export function Copy(props: Readonly<{ text: () => string; label: string; class?: string }>) {
  const [state, setState] = useState<"idle" | "copied" | "shown">("idle");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(props.text());
      setState("copied");
    } catch {
      setState("shown");
    }
  };
  if (state === "shown")
    return (
      <input
        class="address"
        readonly
        aria-label={props.label}
        value={props.text()}
        ref={(field) => field?.select()}
        onBlur={() => setState("idle")}
      />
    );
  return (
    <button class={props.class ?? "btn"} type="button" onClick={() => void copy()}>
      <span aria-live="polite">{state === "copied" ? "Copied" : props.label}</span>
    </button>
  );
}

export const CopyLink = () => <Copy text={() => location.href} label="Copy link" />;
