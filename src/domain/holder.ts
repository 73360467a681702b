import type { CheckoutReading } from "./reading.ts";

/** Who holds a seat, and on which host; null where the manager does not say. */
export type Holder = Pick<CheckoutReading, "user" | "host">;

/** A user as a part of keys: one that is not known is nobody with a name, for no tool prints NUL. */
export function userKey(user: string | null): string {
  return user ?? "\0";
}

/** `ada on ws01`, for messages. */
export function holderName({ user, host }: Holder): string {
  const who = user ?? "an unknown user";
  return host === null ? who : `${who} on ${host}`;
}
