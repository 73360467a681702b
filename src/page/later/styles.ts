import admin from "../admin.css" with { type: "text" };
import past from "../past.css" with { type: "text" };
import signIn from "../sign-in.css" with { type: "text" };
import wall from "../wall.css" with { type: "text" };

// Styles of these pages come with them, so the first paint does not wait.
const sheet = new CSSStyleSheet();
sheet.replaceSync(past + signIn + wall + admin);
document.adoptedStyleSheets.push(sheet);
