import type { Choice, Problem } from './api.ts';
import type { ConnectionResult } from './sdk-types.ts';

/*
 * Messages between windows. The connect page talks to the SDK around it, which is another origin that the browser
 * allowed to embed us. It also talks to the window that it opened, on our own origin. Each message names its kind in
 * `gatehouse`.
 */

/** The SDK's parameters of the modal. */
export interface Start {
  token: string;
  app?: string | undefined;
  category?: string | undefined;
  connectors?: string[];
  /** The workflow to install; the modal then installs it and connects no single account. */
  workflowId?: string;
  /** Set when an installation resumes after the whole page was at an app: its `state`, and the result there. */
  resumed?: { state: string; result: ConnectionResult };
  /** The address of the page around the modal, for the return of a redirect. */
  returnTo?: string;
  /** Part of the return address, so that the SDK recognises its own return. */
  state?: string;
}

/** How long a window waits for its opener's choice before it asks the user instead. */
const OPENER_MS = 800;

/**
 * Reports to the surrounding page that this page is ready, and waits for its start message. `tell` then sends only to
 * that origin.
 * @param leave called when the surrounding page asks us to close.
 */
export function startOf(leave: () => void): Promise<{ start: Start; tell: (message: object) => void }> {
  const { parent } = window;
  let start: Start | undefined;
  return new Promise((resolve) => {
    window.addEventListener('message', ({ source, origin, data }) => {
      if (source !== parent) return;
      if (data?.gatehouse === 'start' && typeof data.token === 'string') {
        start ??= data;
        resolve({ start: data, tell: (message) => parent.postMessage(message, origin) });
      } else if (start && data?.gatehouse === 'token' && typeof data.token === 'string') {
        start.token = data.token;
      } else if (data?.gatehouse === 'leave') {
        leave();
      }
    });
    // The message only says that this page is ready, so any origin may get it.
    parent.postMessage({ gatehouse: 'ready' }, '*');
  });
}

/**
 * Answers windows of the service that ask for the choice made here, for this session alone.
 * @param origin origin of the service; another one than ours where an application draws the steps itself.
 */
export function answerWindows(
  sessionId: string,
  choice: Choice,
  {
    signal,
    origin,
    finished,
    refused,
  }: { signal: AbortSignal; origin: string; finished: () => void; refused: (problem: Problem) => void },
): void {
  window.addEventListener(
    'message',
    ({ source, origin: from, data }) => {
      if (from !== origin || data?.sessionId !== sessionId) return;
      if (data.gatehouse === 'which') {
        source?.postMessage({ gatehouse: 'this', sessionId, choice }, { targetOrigin: origin });
      } else if (data.gatehouse === 'finished') finished();
      else if (data.gatehouse === 'refused') refused(data.problem);
    },
    { signal },
  );
}

/** A choice of the page that opened this window. */
interface OpenerChoice {
  choice: Choice;
  /** The page's origin; undefined for our own. The service decides whether that page may choose for the user. */
  page: string | undefined;
}

/** Returns the choice that the opener made for this session, or undefined when there is none. */
export function choiceOfOpener(sessionId: string): Promise<OpenerChoice | undefined> {
  const opener: Window | null = window.opener;
  if (!opener) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const heard = new AbortController();
    const end = (found?: OpenerChoice) => {
      heard.abort();
      resolve(found);
    };
    setTimeout(end, OPENER_MS);
    window.addEventListener(
      'message',
      ({ source, origin, data }) => {
        if (source !== opener || data?.gatehouse !== 'this' || data.sessionId !== sessionId) return;
        end({ choice: data.choice, page: origin === location.origin ? undefined : origin });
      },
      { signal: heard.signal },
    );
    // The opener has the link of this session already, so any origin may get its id.
    opener.postMessage({ gatehouse: 'which', sessionId }, '*');
  });
}

/** Reports the state of this session to the opener. `page`: its origin, if it is not ours. */
export function notifyOpener(
  sessionId: string,
  gatehouse: 'finished' | 'refused',
  { problem, page = location.origin }: { problem?: Problem; page?: string | undefined } = {},
): void {
  const opener: Window | null = window.opener;
  opener?.postMessage({ gatehouse, sessionId, problem }, page);
}
