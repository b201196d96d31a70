/** Escapes a text for HTML and SVG. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/** The parts of a page. `body` has its own tags. */
interface HtmlPage {
  title: string;
  /** Further elements of the head. */
  head: string;
  body: string;
}

/** Returns a page that fits small screens and dark colours. Its parts are HTML already. */
export function htmlPage({ title, head, body }: HtmlPage): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
${head}
</head>
${body}
</html>
`;
}
