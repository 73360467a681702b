/** What looks back, as one file (`today.ts` says why). */
export { Denials } from "./denials.tsx";
export { Expiry } from "./expiry.tsx";
export { History } from "./history.tsx";
export { Outages } from "./outages.tsx";
export { Person } from "./person.tsx";
