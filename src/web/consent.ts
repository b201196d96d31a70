import type { AppView, Call, Choice, Problem, Session } from './api.ts';
import type { Frame } from './frame.ts';
import { answerWindows } from './messages.ts';
import { badged, drawStatement, type Action } from './screens.ts';
import { texts } from './texts.ts';
import type { ConnectionResult } from './sdk-types.ts';

const POLL_MS = 1_000;

/** How signing in at an app, in a window of its own, can go. One of them is called, once. */
interface Ends {
  /** The session has ended, well or not. */
  settled(result: ConnectionResult): void;
  /** The service refused what was typed before the window went anywhere. */
  refused(problem: Problem): void;
  /** The session cannot be read any more. */
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
  /** What is offered where the browser opens no window. */
  elsewhere(): Promise<Action>;
  leave(): void;
}

/**
 * Opens a window for the consent (call this at the user's click, or browsers block it) and waits for its end. Apps may
 * cut the tie to the window, which then looks closed while it is not: so the service is asked, each second.
 * @returns what ends the waiting, and the window with it.
 */
export function awaitConsent(consent: Consent, ends: Ends): () => void {
  const { frame, call, session, app, choice } = consent;
  const path = `/connect/sessions/${session.sessionId}`;
  const stopped = new AbortController();
  const { signal } = stopped;
  let opened: Window | null = null;
  /** Closed, or only looking so. */
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
    const { result } = answer.value;
    if (result) return end(() => ends.settled(result));
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

/** In the middle of the browser's window; a tab where there are no windows. */
function openWindow({ address }: Consent): Window | null {
  const [width, height] = [520, 720];
  const left = Math.round(window.screenX + Math.max(0, (window.outerWidth - width) / 2));
  const top = Math.round(window.screenY + Math.max(0, (window.outerHeight - height) / 2));
  return window.open(address, '_blank', `popup,width=${width},height=${height},left=${left},top=${top}`);
}
