import { ApiError } from "../../domain/errors.ts";
import type { CheckoutPicture, FeaturePicture, ServerPicture } from "../../domain/picture.ts";
import { escapeControls } from "../../domain/plain-text.ts";
import type { Arguments } from "./argument.ts";

/** Matches listed when the arguments fit several checkouts. */
const MAX_LISTED = 10;

/** A checkout that a request named, with the ways in which a tool can be told of it and of no other. */
export interface FoundCheckout {
  readonly feature: FeaturePicture;
  readonly checkout: CheckoutPicture;
  /** No other seat of the feature has its handle. */
  readonly byHandle: boolean;
  /** No other seat of the feature has its user, host and display. */
  readonly byNames: boolean;
}

/**
 * The one checkout of a server's last picture that the arguments name. Throws MISSING_FIELD when they name too
 * little, NOT_FOUND when there is none, INVALID_FIELD when there are several (listed in `details`), CONFLICT when the
 * picture is not fresh: handles are given out anew, and the seat could be another's by now.
 */
export function findCheckout(picture: ServerPicture, wanted: Arguments): FoundCheckout {
  if (wanted.handle === undefined) {
    for (const name of ["feature", "user", "host"] as const) {
      if (wanted[name] !== undefined) continue;
      throw new ApiError(
        "MISSING_FIELD",
        `Field "args.${name}" is missing: a checkout is named by its handle, or by feature, user, host and, where several match, display.`,
      );
    }
  }
  const matches = picture.features.flatMap((feature) =>
    wanted.feature !== undefined && feature.name !== wanted.feature
      ? []
      : feature.checkouts.filter((one) => fits(one, wanted)).map((checkout) => ({ feature, checkout })),
  );
  const [only] = matches;
  if (only === undefined) {
    throw new ApiError(
      "NOT_FOUND",
      `No checkout on ${picture.server.id} is what "args" names; /api/licenses/users?server=${picture.server.id} lists them.`,
    );
  }
  if (matches.length > 1) {
    const listed = matches.slice(0, MAX_LISTED).map(({ feature, checkout }) => describe(feature, checkout));
    if (matches.length > MAX_LISTED) listed.push(`and ${matches.length - MAX_LISTED} more`);
    throw new ApiError(
      "INVALID_FIELD",
      `Field "args" names ${matches.length} checkouts, and it must name one: add feature, user, host, display or handle.`,
      { details: listed.join("; ") },
    );
  }
  if (only.feature.state !== "ok" && only.feature.state !== "partial") {
    throw new ApiError(
      "CONFLICT",
      `The last poll of ${picture.server.id} did not see this checkout, so it may be another's by now. Rescan the server first.`,
    );
  }
  const { feature, checkout } = only;
  // A tool acts on the feature's name, whichever daemon it is of.
  const seats = picture.features.filter(({ name }) => name === feature.name);
  const count = (same: (one: CheckoutPicture) => boolean) =>
    seats.reduce((sum, { checkouts }) => sum + checkouts.filter(same).length, 0);
  return {
    feature,
    checkout,
    byHandle: checkout.handle !== null && count(({ handle }) => handle === checkout.handle) === 1,
    byNames:
      checkout.host !== null &&
      checkout.display !== null &&
      count(
        ({ user, host, display }) =>
          user === checkout.user && isHost(host, checkout.host) && display === checkout.display,
      ) === 1,
  };
}

function fits(checkout: CheckoutPicture, { user, host, display, handle }: Arguments): boolean {
  return (
    (handle === undefined || checkout.handle === handle) &&
    (user === undefined || checkout.user === user) &&
    (host === undefined || isHost(checkout.host, host)) &&
    (display === undefined || checkout.display === display)
  );
}

function isHost(a: string | null, b: string | null): boolean {
  return a !== null && b !== null && a.toLowerCase() === b.toLowerCase();
}

function describe({ daemon, name }: FeaturePicture, checkout: CheckoutPicture): string {
  const { user, host, display, handle } = checkout;
  const parts = { feature: name, daemon, user, host, display, handle };
  return Object.entries(parts)
    .filter(([, value]) => value !== null && value !== "")
    .map(([key, value]) => `${key} ${escapeControls(String(value))}`)
    .join(", ");
}
