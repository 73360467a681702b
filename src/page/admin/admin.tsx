import { may, me } from "../me.ts";
import { Outcome } from "../parts/dialog.tsx";
import { linkTo, page } from "../router.ts";
import { words } from "../words-pages.ts";
import { Commands } from "./commands.tsx";
import { Checks, Daemon, Windows } from "./daemon.tsx";
import { Keys, SignIns } from "./keys.tsx";
import { admin } from "./words.ts";

/** Name of the page, with a link to its neighbor. */
export function AdminHead() {
  const places = [["admin", words.admin] as const, ...(may("logs") ? [["logs", words.logs] as const] : [])];
  return (
    <>
      <div class="crumbs">
        <h1>{page.value === "logs" ? words.logs : words.admin}</h1>
      </div>
      <nav class="tabs" aria-label={admin.parts}>
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
  const needs = may("keys") ? null : may("execute_operator") ? admin.needsAdmin : admin.needsOperator;
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
