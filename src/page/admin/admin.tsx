import { may, me } from "../me.ts";
import { Outcome } from "../parts/dialog.tsx";
import { linkTo, page } from "../router.ts";
import { Commands } from "./commands.tsx";
import { Checks, Daemon, Windows } from "./daemon.tsx";
import { Keys, SignIns } from "./keys.tsx";

/** Name of the page, with a link to its neighbor. */
export function AdminHead() {
  const places = [["admin", "Administration"] as const, ...(may("logs") ? [["logs", "Logs"] as const] : [])];
  return (
    <>
      <div class="crumbs">
        <h1>{page.value === "logs" ? "Logs" : "Administration"}</h1>
      </div>
      <nav class="tabs" aria-label="Parts of the administration">
        {places.map(([path, word]) => (
          <a key={path} href={linkTo(path)} aria-current={path === page.value ? "page" : undefined}>
            {word}
          </a>
        ))}
      </nav>
    </>
  );
}

/** Shows the daemon and its users, as the viewer's role permits. */
export function Admin() {
  const needs = may("keys")
    ? null
    : may("execute_operator")
      ? "Keys, all sign-ins and reloading need the role admin."
      : "Running commands needs the role operator; keys, all sign-ins and reloading need admin.";
  return (
    <>
      <AdminHead />
      <Outcome />
      {me.value !== null && needs !== null && <p class="q role needs">{needs}</p>}
      <div class="cols c2">
        {may("details") && <Daemon />}
        <Checks />
      </div>
      <Windows />
      {may("keys") && <Keys />}
      {me.value?.via !== "public" && <SignIns />}
      {may("execute_operator") && <Commands />}
    </>
  );
}
