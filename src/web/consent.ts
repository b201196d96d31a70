import type { AppView, Session } from './api.ts';
import { openConsentWindow, type ConsentEnds, type WatchedConsent } from './consent-window.ts';
import type { Frame } from './frame.ts';
import { badged, drawStatement, type Action } from './screens.ts';
import { texts } from './page-texts.ts';

interface Consent extends WatchedConsent {
  frame: Frame;
  session: Session;
  app: AppView;
  /** Returns the action for a browser that opens no window. */
  elsewhere(): Promise<Action>;
  leave(): void;
}

/**
 * Opens a window for the consent, and shows the state of the waiting. Call it at the user's click.
 * @returns a function that ends the waiting and closes the window.
 */
export function awaitConsent(consent: Consent, ends: ConsentEnds): () => void {
  const { frame, app } = consent;
  const shown = openConsentWindow(consent, {
    ...ends,
    opened: () => show(false),
    gone: () => show(true),
    blocked: () => void showBlocked(),
  });
  return shown.stop;

  function show(gone: boolean): void {
    frame.show(
      drawStatement({
        figure: badged(app, 'busy'),
        title: texts.waitingTitle(app.name),
        lead: gone ? texts.goneLead : texts.waitingLead(app.name),
        actions: [
          { label: texts.openAgain, run: () => shown.open(), quiet: !gone },
          { label: texts.cancel, run: consent.leave },
        ],
      }),
    );
  }

  async function showBlocked(): Promise<void> {
    const there = await consent.elsewhere();
    if (shown.stopped.aborted) return;
    frame.show(
      drawStatement({
        figure: badged(app, 'bad'),
        title: texts.blockedTitle,
        lead: texts.blockedLead(app.name),
        actions: [there, { label: texts.cancel, run: consent.leave }],
      }),
    );
  }
}
