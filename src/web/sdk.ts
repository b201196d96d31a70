import type { Start } from './messages.ts';
import type {
  Connected,
  ConnectionResult,
  Gatehouse,
  InstallationResult,
  Installed,
  Managed,
  NotConnected,
  TokenOptions,
} from './sdk-types.ts';

/*
 * The file that an application's page loads. It is served twice: unchanged (`/sdk.mjs`), and as a script with the
 * global `Gatehouse` (`/sdk.js`). It has no dependency and nothing inline, so it works under a strict
 * Content-Security-Policy that allows our origin in script-src and frame-src.
 */

/**
 * Returns the address of this file where a Gatehouse serves it, which writes it here (`http/server/web-files.ts`). The
 * file of the package has none, because it may lie on any host.
 */
const servedFrom = (): string | undefined => undefined;
/** Key of a Mark in sessionStorage while the whole page is at the connect page. */
const MARK = 'gatehouse.redirect';
/** Time for an answer after the load event. The connect page answers earlier; the browser's error page never does. */
const HANDSHAKE_MS = 2_000;
const LOAD_MS = 30_000;
/** How long a closed modal may still ask the server for its result. */
const LEAVE_MS = 2_000;

const STYLE = [
  ':host{all:initial}',
  'dialog{position:fixed;inset:0;margin:auto;padding:0;border:0;width:min(440px,100vw - 32px);height:min(680px,100dvh - 32px);max-width:none;max-height:none;overflow:hidden;border-radius:18px;background:#fff;color-scheme:light dark;box-shadow:0 0 0 1px rgb(15 23 42/.06),0 24px 64px -12px rgb(15 23 42/.35)}',
  'dialog.wide{width:min(920px,100vw - 32px);height:min(780px,100dvh - 32px)}',
  'dialog::backdrop{background:rgb(15 23 42/.5)}',
  'iframe{display:block;width:100%;height:100%;border:0;color-scheme:light dark}',
  '@media(prefers-color-scheme:dark){dialog{background:#161b22;box-shadow:0 0 0 1px rgb(255 255 255/.1),0 24px 64px -12px #000}dialog::backdrop{background:rgb(0 0 0/.65)}}',
  '@media(max-width:480px){dialog,dialog.wide{width:100vw;height:100dvh;border-radius:0;box-shadow:none}}',
  '@media(prefers-reduced-motion:no-preference){dialog[open]{animation:in .18s cubic-bezier(.2,.7,.3,1)}dialog[open]::backdrop{animation:fade .18s}@keyframes in{from{opacity:0;transform:translateY(8px) scale(.985)}}@keyframes fade{from{opacity:0}}}',
].join('');

interface Target {
  token: string;
  environment: string;
  /** Address of Gatehouse, without trailing slash. */
  url: string;
  /** The user, as the token names it. */
  subject: unknown;
}

interface Mark {
  state: string;
  /** The workflow that is being installed. */
  workflowId?: string | undefined;
}

let target: Target | undefined;
/** Continues a call that waits for a token. */
let onToken: (() => void) | undefined;
/** Ends the open modal. */
let endOpen: (() => void) | undefined;
/** Passes a newer token to the open modal. */
let sendToken: ((token: string) => void) | undefined;

export const setToken: Gatehouse['setToken'] = (token, options = {}) => {
  const before = target;
  target = targetOf(token, options);
  // An open window stays that of its user.
  if (before?.subject === target.subject) sendToken?.(token);
  const proceed = onToken;
  onToken = undefined;
  proceed?.();
};

/** Returns what a token is for. @throws Error when it is not a JWT, or does not name its environment. */
export function targetOf(token: string, { environment: named, url }: TokenOptions = {}): Target {
  const claims = claimsOf(token);
  const environment = named ?? claims['env'];
  if (environment !== 'development' && environment !== 'production') {
    throw new Error(
      'Gatehouse.setToken: the token does not name its environment. For a token of an issuer of your own write ' +
        "setToken(token, { environment: 'production' }).",
    );
  }
  const { sub: subject, iss } = claims;
  return { token, environment, url: url?.replace(/\/+$/, '') ?? addressOf(iss), subject };
}

export const authenticate: Gatehouse['authenticate'] = ({ app, category, callback } = {}) => {
  if (app !== undefined && category !== undefined) {
    throw new Error(
      'Gatehouse.authenticate: give app or category, not both. app goes straight to one app, category lets the user choose.',
    );
  }
  return ask<Connected>('authenticate', { app, category }, callback);
};

export const install: Gatehouse['install'] = ({ workflowId, callback }) => {
  if (typeof workflowId !== 'string') {
    throw new Error('Gatehouse.install: workflowId is missing, the id of the workflow to install.');
  }
  return ask<Installed>('install', { workflowId }, callback);
};

export const manage: Gatehouse['manage'] = ({ callback } = {}) =>
  ask<Managed>('manage', { page: 'portal' }, callback);

type Choice = Pick<Start, 'app' | 'category' | 'workflowId' | 'resumed'> & { page?: 'portal' };

/** Opens the modal for a choice. The callback is called once, with the value of the promise. */
function ask<Good>(
  what: string,
  choice: Choice,
  callback?: (result: Good | NotConnected) => void,
): Promise<Good | NotConnected> {
  if (!target) {
    throw new Error(
      `Gatehouse.${what}: no token is set. Call Gatehouse.setToken(token) first, with the JWT that your server ` +
        'gets from GET /2023-12/user/{userId}/token.',
    );
  }
  endOpen?.();
  const chosen = target;
  return new Promise((resolve) => {
    const done = (result: Good | NotConnected) => {
      resolve(result);
      try {
        callback?.(result);
      } catch (error) {
        // An error of the application's callback must not stop the next modal.
        reportError(error);
      }
    };
    try {
      openModal<Good>(chosen, choice, done);
    } catch (error) {
      done(notOpened(error));
    }
  });
}

export const resume: Gatehouse['resume'] = (callback) => {
  const address = new URL(location.href);
  const query = address.searchParams;
  const { state, workflowId } = readMark();
  if (state === undefined || !query.has('success') || query.get('state') !== state) return undefined;
  saveMark(undefined);
  const id = query.get('connectionId') ?? '';
  const error = query.get('error') ?? 'closed';
  const result: ConnectionResult =
    query.get('success') === 'true'
      ? { success: true, connectionId: id, credentialId: query.get('credentialId') ?? id }
      : failed(error, `The account was not connected (${error}).`);
  for (const name of ['success', 'connectionId', 'credentialId', 'error', 'state']) query.delete(name);
  history.replaceState(history.state, '', address);
  if (workflowId === undefined) {
    callback?.(result);
    return result;
  }
  return new Promise<InstallationResult>((resolve) => {
    const choice = { workflowId, resumed: { state, result } };
    const proceed = () => resolve(ask<Installed>('install', choice, callback));
    if (target) proceed();
    else onToken = proceed;
  });
};

function openModal<Good>(
  { token, environment, url }: Target,
  choice: Choice,
  done: (result: Good | NotConnected) => void,
): void {
  const { origin } = new URL(url);
  const state = newState();
  const { host, dialog, frame } = drawDialog(choice, `${url}/${choice.page ?? 'connect'}/${environment}`);
  const before = document.activeElement;
  const page = document.documentElement.style;
  const { overflow, scrollbarGutter } = page;
  const listening = new AbortController();
  const { signal } = listening;
  // A framework that replaces the body of the page removes the modal without an event.
  const removal = new MutationObserver(() => host.isConnected || finish());
  let ready = false;
  /** The result, while the user still reads it. */
  let outcome: Good | NotConnected | undefined;
  let redirecting = false;
  let timer = setTimeout(() => finish(notLoaded(url)), LOAD_MS);

  const wait = (ms: number, result?: NotConnected) => {
    clearTimeout(timer);
    timer = setTimeout(() => finish(result), ms);
  };
  const send = (message: object) => frame.contentWindow?.postMessage(message, origin);
  sendToken = (newer) => ready && send({ gatehouse: 'token', token: newer });

  function finish(result = outcome ?? failed('closed', 'The window was closed before it was done.')): void {
    if (signal.aborted) return;
    listening.abort();
    removal.disconnect();
    clearTimeout(timer);
    endOpen = undefined;
    sendToken = undefined;
    dialog.close();
    host.remove();
    page.overflow = overflow;
    page.scrollbarGutter = scrollbarGutter;
    if (before instanceof HTMLElement) before.focus({ preventScroll: true });
    done(result);
  }

  /** Closes the modal for the user at once, while the connect page asks for the result of a running consent. */
  function leave(): void {
    if (!ready) return finish();
    ready = false;
    if (dialog.open) dialog.close();
    send({ gatehouse: 'leave' });
    wait(LEAVE_MS);
  }

  window.addEventListener(
    'message',
    ({ source, origin: from, data }) => {
      if (source !== frame.contentWindow || from !== origin || typeof data?.gatehouse !== 'string') return;
      if (data.gatehouse === 'ready') {
        clearTimeout(timer);
        ready = true;
        const returnTo = location.href.replace(/#.*/s, '');
        send({ gatehouse: 'start', token, ...choice, returnTo, state });
      } else if (data.gatehouse === 'settled') {
        outcome = data.result;
      } else if (data.gatehouse === 'result' && typeof data.result?.success === 'boolean') {
        finish(data.result);
      } else if (data.gatehouse === 'redirect' && String(data.url).startsWith(`${url}/connect/s/`)) {
        redirecting = saveMark({ state, workflowId: choice.workflowId });
        location.assign(data.url);
      }
    },
    { signal },
  );
  // The user leaves the page. If it goes to the connect page, resume() returns the result after the return.
  window.addEventListener('pagehide', () => redirecting || finish(), { signal });
  frame.addEventListener('load', () => ready || wait(HANDSHAKE_MS, notLoaded(url)), { signal });
  dialog.addEventListener(
    'cancel',
    (event) => {
      event.preventDefault();
      leave();
    },
    { signal },
  );
  dialog.addEventListener('close', () => ready && leave(), { signal });

  endOpen = finish;
  // A script in the head may run before there is a body.
  (document.body ?? document.documentElement).append(host);
  removal.observe(document, { childList: true, subtree: true });
  page.overflow = 'hidden';
  if (innerWidth > document.documentElement.clientWidth) page.scrollbarGutter = 'stable';
  try {
    dialog.showModal();
    frame.focus();
  } catch (error) {
    finish(notOpened(error));
  }
}

/** Draws the dialog with the connect page inside, in a shadow root that no style of the page reaches. */
function drawDialog({ workflowId, page }: Choice, address: string) {
  const host = document.createElement('div');
  const root = host.attachShadow({ mode: 'open' });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  root.adoptedStyleSheets = [sheet];
  const dialog = document.createElement('dialog');
  dialog.ariaModal = 'true';
  if (page) dialog.className = 'wide';
  const about = workflowId ? 'Install a workflow' : 'Connect an account';
  dialog.ariaLabel = page ? 'Your connections' : about;
  const frame = document.createElement('iframe');
  frame.title = dialog.ariaLabel;
  frame.referrerPolicy = 'no-referrer';
  frame.src = address;
  dialog.append(frame);
  root.append(dialog);
  return { host, dialog, frame };
}

/** Returns 128 random bits. `crypto.randomUUID` is missing on http pages that are not localhost. */
function newState(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Returns the payload of a JWT; the server checks whether it is valid. */
function claimsOf(token: unknown): Record<string, unknown> {
  if (typeof token === 'string' && /^gh_(dev|prod|mcp)_/.test(token)) {
    throw new Error(
      'Gatehouse.setToken: this is an API key, which must never reach a browser. Rotate it, and pass a user JWT from ' +
        'GET /2023-12/user/{userId}/token instead.',
    );
  }
  try {
    const [, payload = ''] = /^[\w-]+\.([\w-]+)\.[\w-]+$/.exec(String(token)) ?? [];
    return JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/')));
  } catch {
    throw new Error(
      'Gatehouse.setToken: this is not a JWT (three parts with dots between). Pass the `token` of the answer of ' +
        'GET /2023-12/user/{userId}/token, not the whole answer.',
    );
  }
}

/**
 * Returns the address that served this file; for the package, the token's issuer. On one machine `localhost` and
 * `127.0.0.1` are two origins with separate cookies. There the issuer is right, because apps redirect users to it.
 */
function addressOf(issuer: unknown): string {
  const served = /^(https?:.+)\/sdk\.m?js(\?.*)?$/.exec(servedFrom() ?? '')?.[1];
  const named = typeof issuer === 'string' && URL.canParse(issuer) ? issuer : undefined;
  if (served !== undefined && (named === undefined || portHere(served) !== portHere(named))) return served;
  if (named !== undefined) return named;
  throw new Error(
    'Gatehouse.setToken: the token does not name the address of its Gatehouse (iss). Pass it: ' +
      "setToken(token, { url: 'https://gatehouse.example.com' }).",
  );
}

/** Returns the port of an address of this machine; any other address unchanged. */
function portHere(address: string): string {
  const { hostname, port } = new URL(address);
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname) ? port : address;
}

function failed(error: string, message: string): NotConnected {
  return { success: false, error, message };
}

/** Returns the result for a browser that lacks something the modal needs, or a page that forbids it. */
function notOpened(error: unknown): NotConnected {
  const reason = error instanceof Error ? error.message : String(error);
  return failed('not_opened', `The connect window could not be opened: ${reason}`);
}

function notLoaded(url: string): NotConnected {
  return failed(
    'not_loaded',
    `The connect page of ${url} did not load. Is ${location.origin} among the origins of this environment ` +
      '(PUT /api/settings), and does a frame-src of this page allow it?',
  );
}

function readMark(): Partial<Mark> {
  try {
    return JSON.parse(sessionStorage.getItem(MARK) ?? '{}');
  } catch {
    return {};
  }
}

/** Returns whether the result of a redirect will be found; storage can be forbidden. */
function saveMark(mark: Mark | undefined): boolean {
  try {
    if (mark === undefined) sessionStorage.removeItem(MARK);
    else sessionStorage.setItem(MARK, JSON.stringify(mark));
    return true;
  } catch {
    return false;
  }
}
