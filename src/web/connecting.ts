import { createAccountScreen, makeSession, type Modal, type ShowOptions } from './account-screen.ts';
import { connectedApps, showAccounts } from './account-list.ts';
import { isOver, type AppView, type Call, type ConnectedAccount, type Problem, type Session } from './api.ts';
import { drawChooser } from './chooser.ts';
import type { Start } from './messages.ts';
import { drawFailure, drawList } from './screens.ts';
import type { Connected, ConnectionResult } from './sdk-types.ts';
import { failureText, texts } from './page-texts.ts';

/** Failures that a second try cannot fix. */
const LASTING = new Set(['unauthorized', 'token_expired', 'forbidden', 'user_not_found', 'no_apps']);

/** The purpose of a connection, and what follows it. */
export interface Purpose {
  input: Pick<Start, 'app' | 'category' | 'connectors'> & { credentialId?: string };
  /** Whether the modal first shows the connected accounts and their actions. */
  manages?: boolean;
  /** Reports the latest result, good or bad; undefined when the flow starts again. */
  report(outcome: ConnectionResult | undefined): void;
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
  modal: Modal,
  { input, manages = false, report: onOutcome, connected, back, keep }: Purpose,
): Connecting {
  const { frame, call, environment, leave } = modal;
  let session: Session | undefined;
  /** The final result; undefined before. */
  let ended: ConnectionResult | undefined;
  const screen = createAccountScreen(modal, { outcome: showOutcome, failed: fail, keep });
  return { begin: () => begin(), cancel };

  /** Makes a session. After a failure it returns to the app that was chosen. */
  async function begin(chosen?: AppView): Promise<void> {
    const answer = await makeSession(call, { environment, ...input });
    if (!answer.ok) return fail(answer.problem, chosen);
    session = answer.value;
    report(undefined);
    frame.setSession(session);
    const { connectors } = session;
    const wanted = connectors.length === 1 ? connectors[0]?.connectorId : chosen?.connectorId;
    const only = connectors.find(({ connectorId }) => connectorId === wanted);
    if (only) await open(session, only);
    else if (connectors.length > 0) showChooser(session);
    else fail({ code: 'no_apps', message: texts.noApps, faults: [] });
  }

  function showChooser(on: Session): void {
    const apps = drawChooser(on.connectors, {
      choose: (app) => void open(on, app),
      connected: manages ? connectedApps(call) : undefined,
    });
    frame.show(drawList(on, apps), { back, backLabel: texts.goBack });
  }

  /** Returns the way back from an app: to the apps, or to the previous screen. */
  function backOf(on: Session): (() => void) | undefined {
    return on.connectors.length > 1 ? () => showChooser(on) : back;
  }

  /** Shows the user's accounts at an app, or the form of a first one. */
  async function open(on: Session, app: AppView): Promise<void> {
    if (!manages) return screen.show(on, app, { back: backOf(on) });
    return showAccounts({
      frame,
      call,
      session: on,
      app,
      back: backOf(on),
      use: (account) => use(on, app, account),
      reconnect: (account) => void reconnect(app, account),
      another: (first) =>
        screen.show(on, app, first ? { back: backOf(on) } : toAccounts(() => void open(on, app))),
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
    screen.show(session, app, toAccounts(again));
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
    report({ success: false, error: problem.code, message });
    const close = back ? { label: texts.goBack, run: back } : { label: texts.close, run: leave };
    const again = { label: texts.tryAgain, run: () => void begin(app) };
    frame.show(drawFailure(app, message, LASTING.has(problem.code) ? [close] : [again, close]));
  }

  function report(outcome: ConnectionResult | undefined): void {
    ended = outcome;
    onOutcome(outcome);
  }

  /**
   * Ends the session, unless it already ended, and returns the result. The request is sent even when the page goes
   * away.
   */
  async function cancel(): Promise<ConnectionResult> {
    screen.stop();
    const closed: ConnectionResult = { success: false, error: 'closed', message: texts.failures.closed() };
    if (!session || ended) return ended ?? closed;
    return (await endSession(call, session)) ?? closed;
  }

  /** Ends the session without a result, because another one follows, or none. */
  function dropSession(): void {
    if (session) void endSession(call, session);
    session = undefined;
  }
}

/**
 * Ends a session.
 * @returns its result, because it may have succeeded just before.
 */
async function endSession(call: Call, session: Session): Promise<ConnectionResult | undefined> {
  const { sessionId } = session;
  const answer = await call('POST', '/connect/sessions/{sessionId}/cancel', {
    path: { sessionId },
    last: true,
  });
  return answer.ok ? answer.value.result : undefined;
}

function toAccounts(back: () => void): ShowOptions {
  return { back, backLabel: texts.backToAccounts };
}
