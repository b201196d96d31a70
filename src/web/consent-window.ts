import type { AccountOffer, Call, Choice, Problem, Session } from './api.ts';
import { answerWindows } from './messages.ts';
import type { ConnectionResult } from './sdk-types.ts';

const POLL_MS = 1_000;

/** The possible ends of a sign-in in a separate window. One of them is called, once. */
export interface ConsentEnds {
  /** Called when the session has ended, with success or failure. */
  onResult(result: ConnectionResult): void;
  /** Called when the user has to choose one of several accounts. */
  choosing(offer: AccountOffer): void;
  /** Called when the service refused the typed values before the window went to the app. */
  refused(problem: Problem): void;
  /** Called when the session cannot be read any more. */
  failed(problem: Problem): void;
}

interface WindowEvents extends ConsentEnds {
  /** Called when the window is open, and when it is opened again. */
  opened(): void;
  /** Called when the browser opens no window. */
  blocked(): void;
  /** Called when the window is closed, or only looks so. */
  gone(): void;
}

export interface WatchedConsent {
  call: Call;
  session: Session;
  choice: Choice;
  /** The session's link, where the window begins. */
  address: string;
}

/** The window of a consent, while its end is awaited. */
export interface ConsentWindow {
  /** Opens the window again. */
  open(): void;
  /** Ends the waiting and closes the window. */
  stop(): void;
  /** Aborted once the waiting has ended. */
  stopped: AbortSignal;
}

/**
 * Opens a window for the consent and waits for its end. Call it at the user's click, otherwise browsers block the
 * window. Apps may cut the connection to the window, which then looks closed while it is open. So this function asks
 * the service each second.
 */
export function openConsentWindow(
  { call, session: { sessionId }, choice, address }: WatchedConsent,
  on: WindowEvents,
): ConsentWindow {
  const controller = new AbortController();
  const { signal } = controller;
  let opened: Window | null = null;
  let gone = false;

  const stop = (): void => {
    controller.abort();
    opened?.close();
  };
  const end = (tell: () => void): void => {
    if (signal.aborted) return;
    stop();
    tell();
  };
  const open = (): void => {
    if (signal.aborted) return;
    opened?.close();
    opened = openPopup(address);
    gone = false;
    if (opened) on.opened();
    else on.blocked();
  };
  const poll = async (): Promise<void> => {
    const closed = opened?.closed === true;
    const answer = await call('GET', '/connect/sessions/{sessionId}', { path: { sessionId } });
    if (signal.aborted) return;
    if (!answer.ok) {
      if (answer.problem.code !== 'unreachable') end(() => on.failed(answer.problem));
      return;
    }
    const { result, choosing } = answer.value;
    if (result) return end(() => on.onResult(result));
    if (choosing) return end(() => on.choosing(choosing));
    if (closed && opened?.closed && !gone) {
      gone = true;
      on.gone();
    }
  };

  answerWindows(sessionId, choice, {
    signal,
    origin: new URL(address).origin,
    finished: () => void poll(),
    refused: (problem) => end(() => on.refused(problem)),
  });
  const timer = setInterval(() => void poll(), POLL_MS);
  signal.addEventListener('abort', () => clearInterval(timer));
  open();
  return { open, stop, stopped: signal };
}

/** Opens a window in the middle of the browser's window, or a tab where there are no windows. */
function openPopup(address: string): Window | null {
  const [width, height] = [520, 720];
  const left = Math.round(window.screenX + Math.max(0, (window.outerWidth - width) / 2));
  const top = Math.round(window.screenY + Math.max(0, (window.outerHeight - height) / 2));
  return window.open(address, '_blank', `popup,width=${width},height=${height},left=${left},top=${top}`);
}

/** Returns the session's link at a service. The choice is after the #, which no server sees. */
export function linkAddress(
  base: string,
  { link = '' }: Session,
  { connectorId, type }: Pick<Choice, 'connectorId' | 'type'>,
): string {
  return `${base}/connect/s/${link.split('/').at(-1)}#${connectorId}/${type}`;
}
