import type { WebFiles } from '../server/web-files.ts';

/** The kind of connect page: in an application's modal, behind a link, or after a consent. */
export type PageKind = 'modal' | 'link' | 'ended';

/** Returns the HTML of the connect page, which only loads its files. Its content comes from the connect routes. */
export function connectPage(kind: PageKind, base: string, { version, files }: WebFiles): string {
  const assets = `${base}/connect/assets/${version}`;
  const modules = [...files.keys()].filter((name) => name.endsWith('.js') && !/^(sdk|page)\b/.test(name));
  const preloads = modules.map((name) => `<link rel="modulepreload" href="${assets}/${name}">`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>Connect an account</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${assets}/page.css">
${preloads.join('\n')}
<script type="module" src="${assets}/page.js"></script>
</head>
<body data-page="${kind}">
<noscript><p class="lead">Connecting an account needs JavaScript. Switch it on for this page and load it again.</p></noscript>
</body>
</html>
`;
}

/**
 * Returns the policy for the files that the connect page may load and the pages that may frame it. It allows no
 * inline code, and only the logo may come from elsewhere. No string ever becomes HTML.
 */
export function connectPolicy({ framedBy, logos }: { framedBy: string[]; logos: string[] }): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    ["img-src 'self' data:", ...logos].join(' '),
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${framedBy.length === 0 ? "'none'" : framedBy.join(' ')}`,
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
}
