import { drawAccount } from './account.ts';
import { connectedApps, showAccounts } from './accounts.ts';
import {
  BASE,
  type AppView,
  type Call,
  type Choice,
  type ConnectedAccount,
  type Outcome,
  type Problem,
  type Session,
} from './api.ts';
import { drawChooser } from './chooser.ts';
import { awaitConsent } from './consent.ts';
import { canKeep } from './draft.ts';
import type { Frame } from './frame.ts';
import type { Start } from './messages.ts';
import { badged, drawList, drawStatement, type Action } from './screens.ts';
import type { Connected, ConnectionResult } from './sdk-types.ts';
import { failureText, texts } from './texts.ts';

/** Failures that a second try cannot fix. */
const LASTING = new Set(['unauthorized', 'token_expired', 'forbidden', 'user_not_found', 'no_apps']);

/** The modal around a flow. */
export interface Modal {
  frame: Frame;
  call: Call;
  environment: string;
  start: Start;
  tell(message: object): void;
  leave(): void;
}

/** The purpose of a connection, and what follows it. */
export interface Purpose {
  input: Pick<Start, 'app' | 'category' | 'connectors'>;
  /** Whether the modal first shows the connected accounts and their actions. */
  manages?: boolean;
  /** Reports the latest result, good or bad; undefined when the flow starts again. */
  know(outcome: ConnectionResult | undefined): void;
  connected(session: Session, app: AppView, outcome: Connected): void;
  /** Returns to the previous screen, if that is not the end. */
  back?: (() => void) | undefined;
  /** Stores the state for the return of the whole page from the app, if there is any. */
  keep?: ((state: string) => void) | undefined;
}

/** The flow that connects an account inside the modal: the choice of an app, its form or consent, and the result. */
export interface Connecting {
  begin(): Promise<void>;
  /**
   * Ends the flow.
   * @returns its result.
   */
  cancel(): Promise<ConnectionResult>;
}

export function createConnecting(
  { frame, call, environment, start, tell, leave }: Modal,
  { input, manages = false, know: onOutcome, connected, back, keep }: Purpose,
): Connecting {
  let session: Session | undefined;
  /** The final result; undefined before. */
  let ended: ConnectionResult | undefined;
  let stopWaiting = (): void => {};
  return { begin: () => begin(), cancel };

  /** Makes a session. After a failure it returns to the app that was chosen. */
  async function begin(chosen?: AppView): Promise<void> {
    const answer = await makeSession(call, { environment, ...input });
    if (!answer.ok) return fail(answer.problem, chosen);
    session = answer.value;
    know(undefined);
    frame.know(session);
    const { connectors } = session;
    const only =
      connectors.length === 1
        ? connectors[0]
        : connectors.find(({ connectorId }) => connectorId === chosen?.connectorId);
    if (only) await open(session, only);
    else if (connectors.length > 0) showChooser(session);
    else fail({ code: 'no_apps', message: texts.noApps, faults: [] });
  }

  function showChooser(on: Session): void {
    frame.show(
      drawList(
        on,
        drawChooser(on.connectors, {
          choose: (app) => void open(on, app),
          connected: manages ? connectedApps(call) : undefined,
        }),
      ),
    );
  }

  /** Returns the way back from an app: to the apps, or to the previous screen. */
  function backOf(on: Session): (() => void) | undefined {
    return on.connectors.length > 1 ? () => showChooser(on) : back;
  }

  /** Shows the user's accounts at an app, or the form of a first one. */
  async function open(on: Session, app: AppView): Promise<void> {
    if (!manages) return showAccount(on, app, { back: backOf(on) });
    return showAccounts({
      frame,
      call,
      session: on,
      app,
      back: backOf(on),
      use: (account) => use(on, app, account),
      reconnect: (account) => void reconnect(app, account),
      another: (first) =>
        showAccount(on, app, first ? { back: backOf(on) } : toAccounts(() => void open(on, app))),
      failed: (problem) => fail(problem, app),
    });
  }

  function use(on: Session, app: AppView, { credentialId, name }: ConnectedAccount): void {
    const { connectorId } = app;
    dropSession();
    connected(on, app, { success: true, connectionId: credentialId, credentialId, connectorId, name });
  }

  /** Continues in a new session, which renews the account under its id. */
  async function reconnect(app: AppView, { credentialId }: ConnectedAccount): Promise<void> {
    dropSession();
    const answer = await makeSession(call, { environment, credentialId });
    if (!answer.ok) return fail(answer.problem, app);
    session = answer.value;
    const again = (): void => {
      dropSession();
      void begin(app);
    };
    showAccount(session, app, toAccounts(again));
  }

  function showAccount(on: Session, app: AppView, way: Way): void {
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
    const answer = await call<Outcome>('POST', `/connect/sessions/${on.sessionId}/credentials`, {
      body: choice,
    });
    if (answer.ok) return void showOutcome(on, app, answer.value.result);
    return isOver(answer.problem) ? void fail(answer.problem, app) : answer.problem;
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
          address: addressOf(on, choice),
          elsewhere: () => elsewhere(on, app, choice),
          leave,
        },
        {
          onResult: (outcome) => resolve(void showOutcome(on, app, outcome)),
          failed: (problem) => resolve(void fail(problem, app)),
          refused(problem) {
            back();
            resolve(problem);
          },
        },
      );
    });
  }

  /**
   * Returns the action for a blocked window. The whole page goes to the app, where it may return without loss.
   * Otherwise a link opens a tab, which no browser blocks.
   */
  async function elsewhere(on: Session, app: AppView, choice: Choice): Promise<Action> {
    const { returnTo, state = '' } = start;
    const returns = returnTo !== undefined && (keep === undefined || canKeep());
    const account = on.reconnect;
    const which = account ? { credentialId: account.credentialId } : { app: app.connectorId };
    const options = { environment, ...which, returnTo, state };
    const answer = returns ? await makeSession(call, options) : undefined;
    if (!answer?.ok) return { label: texts.blockedTab(app.name), href: addressOf(on, choice) };
    const url = addressOf(answer.value, choice);
    const go = (): void => {
      keep?.(state);
      tell({ gatehouse: 'redirect', url });
    };
    return { label: texts.blockedHere(app.name), run: go };
  }

  function showOutcome(on: Session, app: AppView, outcome: ConnectionResult): void {
    if (!outcome.success) return fail({ code: outcome.error, message: outcome.message, faults: [] }, app);
    session = undefined;
    connected(on, app, outcome);
  }

  function fail(problem: Problem, app?: AppView): void {
    const brand = session?.branding.name ?? texts.theService;
    const message = isOver(problem)
      ? texts.tookTooLong
      : failureText(problem, brand, app?.name ?? texts.anApp);
    know({ success: false, error: problem.code, message });
    const close = back ? { label: texts.goBack, run: back } : { label: texts.close, run: leave };
    const again = { label: texts.tryAgain, run: () => void begin(app) };
    frame.show(
      drawStatement({
        figure: badged(app, 'bad'),
        title: texts.failedTitle,
        lead: message,
        actions: LASTING.has(problem.code) ? [close] : [again, close],
      }),
    );
  }

  function know(outcome: ConnectionResult | undefined): void {
    ended = outcome;
    onOutcome(outcome);
  }

  /**
   * Ends the session, unless it already ended, and returns the result. The request is sent even when the page goes
   * away.
   */
  async function cancel(): Promise<ConnectionResult> {
    stopWaiting();
    const closed: ConnectionResult = { success: false, error: 'closed', message: texts.failures.closed() };
    if (!session || ended) return ended ?? closed;
    return (await endSession()) ?? closed;
  }

  /** Ends the session without a result, because another one follows, or none. */
  function dropSession(): void {
    void endSession();
    session = undefined;
  }

  /**
   * Ends the session.
   * @returns its result, because it may have succeeded just before.
   */
  async function endSession(): Promise<ConnectionResult | undefined> {
    if (!session) return undefined;
    const path = `/connect/sessions/${session.sessionId}/cancel`;
    const answer = await call<Outcome>('POST', path, { last: true });
    return answer.ok ? answer.value.result : undefined;
  }
}

/** Returns whether the session is over. The user may start again here; behind a link the user needs a new link. */
function isOver({ code }: Problem): boolean {
  return code === 'connect_session_expired' || code === 'connect_session_not_found';
}

type Way = Parameters<Frame['show']>[1];

function toAccounts(back: () => void): Way {
  return { back, backLabel: texts.backToAccounts };
}

type StartInput = Partial<Omit<Start, 'token'>> & { environment: string; credentialId?: string };

function makeSession(call: Call, input: StartInput) {
  return call<Session>('POST', '/connect/sessions', { body: input });
}

/** Returns the session's link on this origin. The choice is after the #, which no server sees. */
function addressOf({ link = '' }: Session, { connectorId, type }: Choice): string {
  return `${BASE}/connect/s/${link.split('/').at(-1)}#${connectorId}/${type}`;
}
