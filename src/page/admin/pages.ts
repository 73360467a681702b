/** What is an administrator's, as one file (`pages/today.ts` says why). */
export { Admin } from "./admin.tsx";
export { Logs } from "./logs.tsx";
