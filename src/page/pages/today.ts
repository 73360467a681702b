/** What is looked at every day, as one file: apart they would be 3 KB more, and a dozen requests. */
export { Alerts } from "./alerts.tsx";
export { Overview } from "./overview.tsx";
export { Server } from "./server.tsx";
export { Servers } from "./servers.tsx";
export { Wall } from "./wall.tsx";
