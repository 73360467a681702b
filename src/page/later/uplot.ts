import uPlot from "uplot";
import style from "uplot/dist/uPlot.min.css" with { type: "text" };

// Load the style with the library, so that pages without charts do not load it.
const sheet = new CSSStyleSheet();
sheet.replaceSync(style);
document.adoptedStyleSheets.push(sheet);

export { uPlot };
