import type { Choice, Problem } from './api.ts';
import type { ConnectionResult } from './sdk-types.ts';

/*
 * Messages between windows: the connect page and the SDK around it (another origin, which the browser let embed us), and
 * the connect page and the window that it opened (our own origin). Each names its kind in `gatehouse`.
 */

/** What the SDK starts the modal with. */
export interface Start {
  token: string;
  app?: string;
  category?: string;
  connectors?: string[];
  /** The workflow to install; then it is not about an account. */
  workflowId?: string;
  /** Of an installation that the whole page left for an app: the `state` that it took along, and what came of it there. */
  resumed?: { state: string; result: ConnectionResult };
  /** The address of the page around the modal, for the way back of a redirect. */
  returnTo?: string;
  /** What the way back brings along, so that the SDK knows it as its own. */
  state?: string;
}

/** How long a window waits for its opener's choice before it asks the user instead. */
const OPENER_MS = 800;

/**
 * Tells the page around that we are there, and waits for its start. `tell` then speaks to that origin alone.
 * @param leave called when the page around asks us to close.
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
    // Says nothing but that we are there, so any origin may hear it.
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

/** The choice that the opener made for this session, or undefined when there is no opener that made one. */
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

/** Tells the opener how this session goes. */
export function tellOpener(sessionId: string, gatehouse: 'finished' | 'refused', problem?: Problem): void {
  const opener: Window | null = window.opener;
  opener?.postMessage({ gatehouse, sessionId, problem }, location.origin);
}
