import { drawAccount } from './account.ts';
import { drawAccountChoice } from './draw-account-choice.ts';
import {
  isOver,
  type AccountOffer,
  type AppView,
  type Call,
  type Choice,
  type Environment,
  type Problem,
  type Session,
} from './api.ts';
import { awaitConsent } from './consent.ts';
import { canKeep } from './draft.ts';
import { linkAddress } from './consent-window.ts';
import type { Frame } from './frame.ts';
import type { Start } from './messages.ts';
import { BASE } from './page-call.ts';
import type { Action } from './screens.ts';
import type { ConnectionResult } from './sdk-types.ts';
import { texts } from './page-texts.ts';

/** The modal around a flow. */
export interface Modal {
  frame: Frame;
  call: Call;
  environment: Environment;
  start: Start;
  tell(message: object): void;
  leave(): void;
}

export type ShowOptions = Parameters<Frame['show']>[1];

/** Called with the end of a connection. */
interface Ends {
  outcome(on: Session, app: AppView, outcome: ConnectionResult): void;
  failed(problem: Problem, app: AppView): void;
  keep: ((state: string) => void) | undefined;
}

/**
 * Creates the screen of one app: its form, and the consent that the form may begin. `stop` ends the waiting for a
 * consent.
 */
export function createAccountScreen({ frame, call, environment, start, tell, leave }: Modal, ends: Ends) {
  let stopWaiting = (): void => {};
  return { show: showAccount, stop: () => stopWaiting() };

  function showAccount(on: Session, app: AppView, way: ShowOptions): void {
    const screen = drawAccount({
      session: on,
      app,
      asking: false,
      submit: (choice) =>
        choice.type === 'oauth2' ? consent(on, app, { choice, back: show }) : store(on, app, choice),
    });
    const show = (): void => frame.show(screen, way);
    show();
  }

  async function store(on: Session, app: AppView, choice: Choice): Promise<Problem | undefined> {
    const answer = await call('POST', '/connect/sessions/{sessionId}/credentials', {
      path: { sessionId: on.sessionId },
      body: choice,
    });
    if (answer.ok) return void ends.outcome(on, app, answer.value.result);
    return isOver(answer.problem) ? void ends.failed(answer.problem, app) : answer.problem;
  }

  /**
   * Runs a consent. Resolves with a problem when the service refuses the typed values; `back` then shows the form
   * again.
   */
  function consent(
    on: Session,
    app: AppView,
    { choice, back }: { choice: Choice; back: () => void },
  ): Promise<Problem | undefined> {
    return new Promise((resolve) => {
      stopWaiting = awaitConsent(
        {
          frame,
          call,
          session: on,
          app,
          choice,
          address: linkAddress(BASE, on, choice),
          elsewhere: () => elsewhere(on, app, choice),
          leave,
        },
        {
          onResult: (outcome) => resolve(void ends.outcome(on, app, outcome)),
          failed: (problem) => resolve(void ends.failed(problem, app)),
          choosing: (offer) => resolve(showAccounts(on, app, offer)),
          refused(problem) {
            back();
            resolve(problem);
          },
        },
      );
    });
  }

  /** Shows the accounts that a consent reaches. */
  function showAccounts(on: Session, app: AppView, offer: AccountOffer): undefined {
    frame.show(
      drawAccountChoice({
        call,
        session: on,
        app,
        offer,
        connected: ({ result }) => ends.outcome(on, app, result),
        over: (problem) => ends.failed(problem, app),
        cancel: leave,
      }),
    );
  }

  /**
   * Returns the action for a blocked window. The whole page goes to the app, where it may return without loss.
   * Otherwise a link opens a tab, which no browser blocks.
   */
  async function elsewhere(on: Session, app: AppView, choice: Choice): Promise<Action> {
    const { returnTo, state = '' } = start;
    const returns = returnTo !== undefined && (ends.keep === undefined || canKeep());
    const account = on.reconnect;
    const which = account ? { credentialId: account.credentialId } : { app: app.connectorId };
    const options = { environment, ...which, returnTo, state };
    const answer = returns ? await makeSession(call, options) : undefined;
    if (!answer?.ok) return { label: texts.blockedTab(app.name), href: linkAddress(BASE, on, choice) };
    const url = linkAddress(BASE, answer.value, choice);
    const go = (): void => {
      ends.keep?.(state);
      tell({ gatehouse: 'redirect', url });
    };
    return { label: texts.blockedHere(app.name), run: go };
  }
}

type StartInput = Partial<Omit<Start, 'token'>> & { environment: Environment; credentialId?: string };

export function makeSession(call: Call, input: StartInput) {
  return call('POST', '/connect/sessions', { body: input });
}
