import { htmlPage } from '../../lib/html.ts';
import type { WebFiles } from '../server/web-files.ts';

/** The kind of page: in an application's modal, behind a link, after a consent, or the portal. */
export type PageKind = 'modal' | 'link' | 'ended' | 'portal';
/** The kinds that fill the frame of an application. */
const FRAMED: ReadonlySet<PageKind> = new Set(['modal', 'portal']);

/** Returns the HTML of the connect page, which only loads its files. Its content comes from the connect routes. */
export function connectPage(kind: PageKind, base: string, { version, files }: WebFiles): string {
  const assets = `${base}/connect/assets/${version}`;
  const modules = [...files.keys()].filter((name) => name.endsWith('.js') && isNeeded(name, kind));
  const preloads = modules.map((name) => `<link rel="modulepreload" href="${assets}/${name}">`);
  return htmlPage({
    title: kind === 'portal' ? 'Your connections' : 'Connect an account',
    head: `<meta name="robots" content="noindex">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${assets}/page.css">
${preloads.join('\n')}
<script type="module" src="${assets}/page.js"></script>`,
    body: `<body data-page="${kind}"${FRAMED.has(kind) ? ' data-framed' : ''}>
<noscript><p class="lead">This page needs JavaScript. Switch it on for this page and load it again.</p></noscript>
</body>`,
  });
}

/** Returns whether a page of this kind loads a module in addition to its entry. */
function isNeeded(name: string, kind: PageKind): boolean {
  if (name.startsWith('portal')) return kind === 'portal';
  return !/^(sdk|page)\.js$/.test(name);
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
