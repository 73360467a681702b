import admin from "../admin.css" with { type: "text" };
import signIn from "../sign-in.css" with { type: "text" };
import wall from "../wall.css" with { type: "text" };

// Styles of single pages come with them: the first paint does not wait for them.
const sheet = new CSSStyleSheet();
sheet.replaceSync(signIn + wall + admin);
document.adoptedStyleSheets.push(sheet);
