import { createHash } from 'node:crypto';
import type { Scope } from './oauth-tokens.ts';
import { escapeHtml, htmlPage } from '../lib/html.ts';

/** The content of the consent page. */
export interface ConsentView {
  /** The client's name. */
  clientName: string;
  scopes: readonly Scope[];
  /** Host and port of the address to return to. */
  returnsTo: string;
  /** The signed request, which the form sends back. */
  request: string;
  /** The name as typed; `fault` says what is wrong with it. */
  account: string;
  fault?: string | undefined;
}

export const MAX_ACCOUNT_CHARS = 60;

const SCOPE_TEXTS = {
  read: ['Read', 'customers, orders, products and messages'],
  write: ['Change', 'customers, orders, contacts and tickets, and send messages'],
} satisfies Record<Scope, [string, string]>;

/** Returns the headers of every page of this file. */
export function pageHeaders(): Record<string, string> {
  const style = createHash('sha256').update(STYLE).digest('base64');
  return {
    'Content-Type': 'text/html; charset=utf-8',
    // form-action also applies to every redirect after the form. The client's redirect after its callback is unknown
    // here, so the rule can name only schemes.
    'Content-Security-Policy':
      `default-src 'none'; style-src 'sha256-${style}'; base-uri 'none'; frame-ancestors 'none'; ` +
      'form-action http: https:',
    'X-Frame-Options': 'DENY',
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Cache-Control': 'no-store',
    // In a popup, the page after this one may need to reach its opener.
    'Cross-Origin-Opener-Policy': 'unsafe-none',
  };
}

/**
 * Renders the page that asks a person whether the client may use an account, and which one. It works without a
 * script.
 */
export function consentPage(view: ConsentView): string {
  const { clientName, scopes, returnsTo, request, account, fault } = view;
  const client = escapeHtml(clientName);
  return page(
    `Allow ${client}?`,
    `<h1>${client} wants to use your shop</h1>
<p class="soft">A shop to practise with. Nothing in it is real, and nothing leaves this machine.</p>
<form method="post" action="authorize">
<input type="hidden" name="request" value="${escapeHtml(request)}">
<label for="account">Name of the shop</label>
<input id="account" name="account" value="${escapeHtml(account)}" maxlength="${MAX_ACCOUNT_CHARS}" required autocomplete="off" autocapitalize="off" spellcheck="false" aria-describedby="${fault ? 'fault ' : ''}help"${fault ? ' aria-invalid="true" autofocus' : ''}>
${fault ? `<p class="fault" id="fault">${escapeHtml(fault)}</p>` : ''}
<p class="help" id="help">Any name will do. Each name opens its own shop. The same name opens the same shop again.</p>
<h2>${client} will be able to</h2>
<ul>
${scopes.map((scope) => `<li><strong>${SCOPE_TEXTS[scope][0]}</strong> ${SCOPE_TEXTS[scope][1]}</li>`).join('\n')}
</ul>
<div class="choices">
<button name="decision" value="allow">Allow</button>
<button name="decision" value="deny" class="quiet" formnovalidate>Deny</button>
</div>
</form>
<p class="foot">Either way you go back to <b>${escapeHtml(returnsTo)}</b>.</p>`,
  );
}

/** Renders the error for a person when there is no trusted address to send them back to. */
export function refusalPage(message: string): string {
  return page(
    'This did not work',
    `<h1>This did not work</h1>
<p role="alert">${escapeHtml(message)}</p>
<p class="soft">Close this page and start again in the app that sent you here.</p>`,
  );
}

function page(title: string, content: string): string {
  return htmlPage({
    title: `${title} · Sandbox`,
    head: `<style>${STYLE}</style>`,
    body: `<body>
<main>
<div class="brand">${MARK}<span>Sandbox</span></div>
${content}
</main>
</body>`,
  });
}

const MARK =
  '<svg viewBox="0 0 32 32" width="32" height="32" aria-hidden="true"><rect width="32" height="32" rx="9"/>' +
  '<path d="M8 14l1.6-5h12.8l1.6 5a2.67 2.67 0 0 1-5.33 0 2.67 2.67 0 0 1-5.34 0 2.67 2.67 0 0 1-5.33 0z' +
  'M9.6 17v6.5h12.8v-6.5M14 23.5v-3.8h4v3.8"/></svg>';

const STYLE = `
:root{color-scheme:light dark;--ink:#1c1530;--soft:#5d5672;--line:#e2deec;--field:#8d86a3;--paper:#fff;--ground:#f4f1fb;--accent:#6d28d9;--press:#5b21b6;--on:#fff;--fault:#b42318;--shade:0 1px 2px #1c15300f,0 12px 40px #1c15301a}
@media(prefers-color-scheme:dark){:root{--ink:#eeeaf8;--soft:#aca4c2;--line:#383048;--field:#7d7496;--paper:#1d1829;--ground:#120e1b;--accent:#c4a7ff;--press:#d9c6ff;--on:#1c1530;--fault:#ffa198;--shade:0 0 0 1px #383048}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;min-height:100dvh;display:grid;place-items:center;padding:1.5rem 1rem;font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--ground)}
main{width:100%;max-width:26.5rem;padding:clamp(1.25rem,6vw,2.25rem);background:var(--paper);border-radius:18px;box-shadow:var(--shade);overflow-wrap:anywhere}
.brand{display:flex;align-items:center;gap:.6rem;font-weight:650;letter-spacing:-.01em}
.brand rect{fill:var(--accent)}.brand path{fill:none;stroke:var(--on);stroke-width:1.6;stroke-linejoin:round;stroke-linecap:round}
h1{margin:1.35rem 0 .4rem;font-size:1.5rem;line-height:1.22;letter-spacing:-.02em;text-wrap:balance}
h2{margin:1.4rem 0 .45rem;font-size:.95rem}
p{margin:.5rem 0}
.soft,.help,.foot{color:var(--soft)}
.help{margin:.45rem 0 0;font-size:.875rem}
.fault{margin:.45rem 0 0;color:var(--fault);font-size:.9rem;font-weight:600}
label{display:block;margin:1.4rem 0 .35rem;font-weight:600;font-size:.95rem}
input:not([type=hidden]){width:100%;min-height:46px;padding:.55rem .8rem;font:inherit;color:inherit;background:transparent;border:1px solid var(--field);border-radius:10px}
input[aria-invalid]{border-color:var(--fault)}
ul{margin:0;padding:0;list-style:none;border:1px solid var(--line);border-radius:12px}
li{padding:.65rem .9rem}
li+li{border-top:1px solid var(--line)}
.choices{display:flex;flex-wrap:wrap;gap:.75rem;margin-top:1.6rem}
button{flex:1 1 8rem;min-height:46px;padding:.55rem 1rem;font:inherit;font-weight:600;color:var(--on);background:var(--accent);border:1px solid transparent;border-radius:10px;cursor:pointer}
button:hover{background:var(--press)}
.quiet{color:inherit;background:transparent;border-color:var(--field)}
.quiet:hover{background:var(--ground)}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
.foot{margin:1.4rem 0 0;font-size:.875rem;text-align:center}
@media(forced-colors:active){main,button{border:1px solid}}
`;
