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
  return new Promise((resolve) => {
    window.addEventListener('message', ({ source, origin, data }) => {
      if (source !== parent) return;
      if (data?.gatehouse === 'start' && typeof data.token === 'string') {
        resolve({ start: data, tell: (message) => parent.postMessage(message, origin) });
      } else if (data?.gatehouse === 'leave') {
        leave();
      }
    });
    // The message only says that this page is ready, so any origin may get it.
    parent.postMessage({ gatehouse: 'ready' }, '*');
  });
}

/** Answers windows of our own origin that ask for the choice made here, for this session alone. */
export function answerWindows(
  sessionId: string,
  choice: Choice,
  {
    signal,
    finished,
    refused,
  }: { signal: AbortSignal; finished: () => void; refused: (problem: Problem) => void },
): void {
  window.addEventListener(
    'message',
    ({ source, origin, data }) => {
      if (origin !== location.origin || data?.sessionId !== sessionId) return;
      if (data.gatehouse === 'which') {
        source?.postMessage({ gatehouse: 'this', sessionId, choice }, { targetOrigin: origin });
      } else if (data.gatehouse === 'finished') finished();
      else if (data.gatehouse === 'refused') refused(data.problem);
    },
    { signal },
  );
}

/** Returns the choice that the opener made for this session, or undefined when there is none. */
export function choiceOfOpener(sessionId: string): Promise<Choice | undefined> {
  const opener: Window | null = window.opener;
  if (!opener) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const heard = new AbortController();
    const end = (choice?: Choice) => {
      heard.abort();
      resolve(choice);
    };
    setTimeout(end, OPENER_MS);
    window.addEventListener(
      'message',
      ({ source, origin, data }) => {
        if (source !== opener || origin !== location.origin) return;
        if (data?.gatehouse === 'this' && data.sessionId === sessionId) end(data.choice);
      },
      { signal: heard.signal },
    );
    opener.postMessage({ gatehouse: 'which', sessionId }, location.origin);
  });
}

/** Reports the state of this session to the opener. */
export function notifyOpener(sessionId: string, gatehouse: 'finished' | 'refused', problem?: Problem): void {
  const opener: Window | null = window.opener;
  opener?.postMessage({ gatehouse, sessionId, problem }, location.origin);
}
