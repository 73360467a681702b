import admin from "../admin.css" with { type: "text" };
import past from "../past.css" with { type: "text" };
import signIn from "../sign-in.css" with { type: "text" };
import wall from "../wall.css" with { type: "text" };

// Load the styles with the pages, so that the first paint does not wait for them.
const sheet = new CSSStyleSheet();
sheet.replaceSync(past + signIn + wall + admin);
document.adoptedStyleSheets.push(sheet);

/** All pages but the first, in one file, because separate files would need a dozen more requests for shared code. */

export { Admin } from "../admin/admin.tsx";
export { Logs } from "../admin/logs.tsx";
export { AlertDialog } from "../daily/alert-dialog.tsx";
export { Fleet } from "../fleet/fleet.tsx";
export { Alerts } from "../pages/alerts.tsx";
export { Denials } from "../pages/denials.tsx";
export { Expiry } from "../pages/expiry.tsx";
export { Feature } from "../pages/feature.tsx";
export { FeatureTable } from "../pages/feature-table.tsx";
export { Features } from "../pages/features.tsx";
export { History } from "../pages/history.tsx";
export { Outages } from "../pages/outages.tsx";
export { People, Person } from "../pages/people.tsx";
export { Server } from "../pages/server.tsx";
export { NoServers, ServerGroups, Servers } from "../pages/servers.tsx";
export { SignIn } from "../pages/sign-in.tsx";
export { Wall } from "../pages/wall.tsx";
export { Chart } from "../parts/chart.tsx";
export { KeyList, Palette } from "../shell/palette.tsx";
