import { signal } from "@preact/signals";
import { may, me } from "../me.ts";
import { Outcome } from "../parts/dialog.tsx";
import { linkTo, page } from "../router.ts";
import { words } from "../words.ts";
import { Commands } from "./commands.tsx";
import { Checks, Daemon, Load, Windows } from "./daemon.tsx";
import { Keys } from "./keys.tsx";
import { SignIns } from "./sign-ins.tsx";
import { admin } from "./words.ts";

/** Raised by each change: what lists keys and sign-ins reads again. */
export const changed = signal(0);

/** The name of the place, and the one beside it. */
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

/** The daemon and who may use it, as far as one's role goes. */
export function Admin() {
  const needs = may("keys") ? null : may("execute_operator") ? admin.needsAdmin : admin.needsOperator;
  return (
    <>
      <AdminHead />
      <Outcome />
      {me.value !== null && needs !== null && <p class="q role needs">{needs}</p>}
      <div class="cols c2">
        <div>
          <Daemon />
          <Load />
        </div>
        <div>
          <Checks />
          <Windows />
        </div>
      </div>
      {may("keys") && <Keys changed={changed} />}
      {me.value?.via !== "public" && <SignIns changed={changed} />}
      {may("execute_operator") && <Commands />}
    </>
  );
}
