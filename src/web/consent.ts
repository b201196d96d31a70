import type { AccountOffer, AppView, Call, Choice, Problem, Session } from './api.ts';
import type { Frame } from './frame.ts';
import { answerWindows } from './messages.ts';
import { badged, drawStatement, type Action } from './screens.ts';
import { texts } from './page-texts.ts';
import type { ConnectionResult } from './sdk-types.ts';

const POLL_MS = 1_000;

/** The possible ends of a sign-in in a separate window. One of them is called, once. */
interface Ends {
  /** Called when the session has ended, with success or failure. */
  onResult(result: ConnectionResult): void;
  /** Called when the user has to choose one of several accounts. */
  choosing(offer: AccountOffer): void;
  /** Called when the service refused the typed values before the window went to the app. */
  refused(problem: Problem): void;
  /** Called when the session cannot be read any more. */
  failed(problem: Problem): void;
}

interface Consent {
  frame: Frame;
  call: Call;
  session: Session;
  app: AppView;
  choice: Choice;
  /** The session's link, where the window begins. */
  address: string;
  /** Returns the action for a browser that opens no window. */
  elsewhere(): Promise<Action>;
  leave(): void;
}

/**
 * Opens a window for the consent and waits for its end. Call it at the user's click, otherwise browsers block the
 * window. Apps may cut the connection to the window, which then looks closed while it is open. So this function asks
 * the service each second.
 * @returns a function that ends the waiting and closes the window.
 */
export function awaitConsent(consent: Consent, ends: Ends): () => void {
  const { frame, call, session, app, choice } = consent;
  const path = `/connect/sessions/${session.sessionId}`;
  const stopped = new AbortController();
  const { signal } = stopped;
  let opened: Window | null = null;
  /** Whether the window is closed, or only looks so. */
  let gone = false;

  const stop = (): void => {
    stopped.abort();
    opened?.close();
  };
  const end = (tell: () => void): void => {
    if (signal.aborted) return;
    stop();
    tell();
  };
  const open = (): void => {
    opened?.close();
    opened = openWindow(consent);
    gone = false;
    if (opened) show();
    else void showBlocked();
  };
  const showBlocked = async (): Promise<void> => {
    const there = await consent.elsewhere();
    if (signal.aborted) return;
    frame.show(
      drawStatement({
        figure: badged(app, 'bad'),
        title: texts.blockedTitle,
        lead: texts.blockedLead(app.name),
        actions: [there, { label: texts.cancel, run: consent.leave }],
      }),
    );
  };
  const show = (): void =>
    frame.show(
      drawStatement({
        figure: badged(app, 'busy'),
        title: texts.waitingTitle(app.name),
        lead: gone ? texts.goneLead : texts.waitingLead(app.name),
        actions: [
          { label: texts.openAgain, run: open, quiet: !gone },
          { label: texts.cancel, run: consent.leave },
        ],
      }),
    );
  const poll = async (): Promise<void> => {
    const closed = opened?.closed === true;
    const answer = await call<Session>('GET', path);
    if (signal.aborted) return;
    if (!answer.ok) {
      if (answer.problem.code !== 'unreachable') end(() => ends.failed(answer.problem));
      return;
    }
    const { result, choosing } = answer.value;
    if (result) return end(() => ends.onResult(result));
    if (choosing) return end(() => ends.choosing(choosing));
    if (closed && opened?.closed && !gone) {
      gone = true;
      show();
    }
  };

  answerWindows(session.sessionId, choice, {
    signal,
    finished: () => void poll(),
    refused: (problem) => end(() => ends.refused(problem)),
  });
  const timer = setInterval(() => void poll(), POLL_MS);
  signal.addEventListener('abort', () => clearInterval(timer));
  open();
  return stop;
}

/** Opens a window in the middle of the browser's window, or a tab where there are no windows. */
function openWindow({ address }: Consent): Window | null {
  const [width, height] = [520, 720];
  const left = Math.round(window.screenX + Math.max(0, (window.outerWidth - width) / 2));
  const top = Math.round(window.screenY + Math.max(0, (window.outerHeight - height) / 2));
  return window.open(address, '_blank', `popup,width=${width},height=${height},left=${left},top=${top}`);
}
