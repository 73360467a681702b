import { computed, effect, signal } from "@preact/signals";
import type { Patch } from "../../domain/live-picture.ts";
import { loadMe, me, Refusal, serverNow } from "../api.ts";
import { IS_FLEET, IS_HUB, SITE } from "../here.ts";
import type { Site } from "../model.ts";
import { firing, hearAlert, lastDenial, loadAlerts } from "./alerts.ts";
import { HUB_EVERY_MS, readFleet, wakesOrSleeps } from "./hub.ts";
import { createReader, forgetPicture, readPicture } from "./reader.ts";
import { openStream, type StreamNews, type TabWord } from "./stream.ts";

declare global {
  interface Window {
    /** Trusted Types (https://www.w3.org/TR/trusted-types/), which TypeScript's DOM does not declare yet. */
    readonly trustedTypes?: {
      createPolicy(
        name: string,
        rules: { createScriptURL(input: string): string },
      ): { createScriptURL(input: string): { toString(): string } };
    };
  }
}

export const site = signal<Site | null>(null);
/** Start of the interruption in epoch ms; null while the data is live, and before the first picture. */
export const lostSince = signal<number | null>(null);
/** Reason why the picture cannot be read; `signedOut` means no valid sign-in. */
export const trouble = signal<"signedOut" | Refusal | "unreachable" | null>(null);
/**
 * True while the picture is read every 30 s because the stream does not get through, for example behind an
 * HTTP/1.0 proxy.
 */
export const isFetching = signal(false);
/** The time by the server's clock in epoch ms, updated once a second. Ages are computed from this time. */
export const now = signal(serverNow());
export const polledAt = computed(() =>
  Math.max(
    0,
    ...[...(site.value?.values() ?? [])].map(({ lastPollAt }) => Date.parse(lastPollAt ?? "") || 0),
  ),
);

const GATHER_MS = 200;
const HIDDEN_MS = 60_000;

/** Time without a stream after which the picture is read periodically. */
const FETCH_AFTER_MS = 10_000;
const FETCH_EVERY_MS = 30_000;
/**
 * Time between two ticks above which the tab or machine must have slept. Hidden tabs tick at least once a
 * minute.
 */
const ASLEEP_MS = 90_000;

/** Start of the time without a stream, in epoch ms by this browser's clock; null while the stream is open. */
const closedAt = signal<number | null>(Date.now());
export const isOpen = computed(() => closedAt.value === null);
let fetchedAt = 0;
/** Time of the last request for the picture, in epoch ms by the server's clock. */
let askedAt = 0;
let hasOpened = false;

let whoIsIt: Promise<boolean> | null = null;

const reader = createReader({
  async load(ids) {
    askedAt = serverNow();
    const servers = await (IS_FLEET ? readFleet() : readPicture(ids));
    // Wait until the caller is known, because the picture depends on the caller.
    await whoIsIt;
    if (ids === null && !IS_FLEET) void loadAlerts();
    trouble.value = null;
    // Judge by time and not by this answer, because a server that answers right after a loss may soon send
    // events again.
    isFetching.value = !IS_FLEET && closedAt.value !== null && Date.now() - closedAt.value >= FETCH_AFTER_MS;
    if (IS_FLEET || closedAt.value === null || isFetching.value) lostSince.value = null;
    return servers;
  },
  changed(next) {
    site.value = next;
  },
  failed(error) {
    lostSince.value ??= askedAt;
    isFetching.value = false;
    if (error instanceof Refusal && error.status === 401) forget();
    else trouble.value = error instanceof Refusal ? error : "unreachable";
  },
});

let gathered: Patch[] = [];
let appliedAt = 0;

function applyGathered(): void {
  appliedAt = Date.now();
  reader.apply(gathered.splice(0));
}

function hear(news: StreamNews): void {
  if (news.type === "patch") {
    // Apply the first patch at once.
    const wait = Math.max(0, appliedAt + GATHER_MS - Date.now());
    if (gathered.push(news.patch) === 1) setTimeout(applyGathered, Math.min(wait, GATHER_MS));
    return;
  }
  if (news.type === "alert" || news.type === "denial") {
    if (news.type === "alert") hearAlert(news);
    else lastDenial.value = news;
    return;
  }
  gathered = [];
  const wasOpen = closedAt.value === null;
  if (news.type === "open") {
    closedAt.value = null;
    if (hasOpened) void Promise.all([compareVersion(), loadMe()]);
    hasOpened = true;
  } else {
    closedAt.value ??= Date.now();
    if (!isFetching.peek()) lostSince.value ??= serverNow() - (news.silentMs ?? 0);
    // Read the picture to learn whether the sign-in has ended. Skip this if the end is known, or after
    // repeated failures.
    if (trouble.peek() === "signedOut" || (!wasOpen && site.peek() !== null)) return;
  }
  void reader.reload();
}

let beatAt = Date.now();
let askedHubAt = 0;

/** Runs once a second, and when the tab becomes visible. */
function beat(): void {
  const slept = Date.now() - beatAt > ASLEEP_MS;
  beatAt = Date.now();
  if (slept) void reader.reload();
  if (document.hidden) return;
  now.value = serverNow();
  if (IS_HUB && beatAt - askedHubAt >= HUB_EVERY_MS && trouble.peek() !== "signedOut") {
    askedHubAt = beatAt;
    if (IS_FLEET) return void reader.reload();
    void wakesOrSleeps().then((isOther) => (isOther ? reader.reload() : undefined));
  }
  const due = Math.max(
    (closedAt.value ?? Number.POSITIVE_INFINITY) + FETCH_AFTER_MS,
    fetchedAt + FETCH_EVERY_MS,
  );
  if (IS_FLEET || beatAt < due || trouble.peek() === "signedOut") return;
  fetchedAt = beatAt;
  void reader.reload();
}

/** Sends a message to the stream's owner, which is this tab or the shared worker. */
let tell: (word: "retry" | "rest") => void = nobody;
function nobody(): void {}

export async function startLive(): Promise<void> {
  whoIsIt = loadMe();
  // Request the picture before the sign-in is known, because without a sign-in its answer is not an error.
  // A fleet's requests would fail, so they wait.
  if (!IS_FLEET) void reader.reload();
  if (await whoIsIt) keepLive();
  else forget();
}

/**
 * Keeps the picture live. No change before the stream opens is lost, because the picture is read again when
 * it opens.
 */
function keepLive(): void {
  closedAt.value = Date.now();
  setInterval(beat, 1_000);
  document.addEventListener("visibilitychange", beat);
  effect(() => {
    // Update ages after a picture, and after the tab was hidden.
    if (site.value !== null) now.value = serverNow();
  });
  // A page of the whole fleet opens no stream; it polls.
  tell = IS_FLEET ? () => {} : typeof SharedWorker === "undefined" ? ownStream() : sharedStream();
  // A tab that slept or was restored may have missed events.
  addEventListener("pageshow", ({ persisted }) => {
    if (persisted) void reader.reload();
  });
  document.addEventListener("resume", () => void reader.reload());
}

/** Forgets the picture after a sign-out, because the next viewer may get a different picture. */
export function forget(): void {
  tell("rest");
  site.value = null;
  me.value = null;
  forgetPicture();
  firing.value = null;
  trouble.value = "signedOut";
}

export function again(): Promise<void> {
  // Restart the time without a stream, because the picture arrives first and the stream needs time to open.
  if (closedAt.value !== null) closedAt.value = Date.now();
  if (tell === nobody) keepLive();
  else tell("retry");
  return reader.reload();
}

function sharedStream(): typeof tell {
  // Trusted Types require that a policy creates the address of a worker. This policy creates a single address.
  const address = new URL("./stream-worker.js", document.baseURI).href;
  const policy = window.trustedTypes?.createPolicy("licmond", { createScriptURL: () => address });
  // Cast to string, because TypeScript rejects the TrustedScriptURL that the browser needs.
  const trusted = (policy?.createScriptURL("") ?? address) as string;
  const worker = new SharedWorker(trusted, { type: "module", name: SITE ?? "" });
  worker.addEventListener("error", () => {
    tell = ownStream();
  });
  worker.port.onmessage = ({ data }: MessageEvent<StreamNews>) => hear(data);
  addEventListener("pagehide", ({ persisted }) => {
    if (!persisted) worker.port.postMessage("bye");
  });
  return (word) => worker.port.postMessage(word satisfies TabWord);
}

function ownStream(): typeof tell {
  let stream: ReturnType<typeof openStream> | null = openStream(hear, SITE);
  let timer: ReturnType<typeof setTimeout> | undefined;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(timer);
    if (!document.hidden) stream ??= openStream(hear, SITE);
    else
      timer = setTimeout(() => {
        stream?.end();
        stream = null;
        closedAt.value ??= Date.now();
      }, HIDDEN_MS);
  });
  return (word) => stream?.[word]();
}

export const isOutdated = signal(false);

/** Requests the document again to compare the name of its script, which contains a hash. */
export async function compareVersion(): Promise<void> {
  const own = document.querySelector('script[type="module"]')?.getAttribute("src");
  const answer = await fetch("./", { cache: "no-cache" }).catch(() => null);
  // Without an answer, or with an answer of a proxy, try again when the stream opens.
  if (own && answer?.ok && answer.headers.get("content-type")?.startsWith("text/html"))
    isOutdated.value = !(await answer.text()).includes(own);
}
