import { drawAccount } from './account.ts';
import {
  BASE,
  caller,
  type AppView,
  type Call,
  type Choice,
  type Outcome,
  type Problem,
  type Session,
} from './api.ts';
import { drawChooser } from './chooser.ts';
import { awaitConsent } from './consent.ts';
import { drawFrame } from './frame.ts';
import { startOf, type Start } from './messages.ts';
import { badged, drawList, drawLoading, drawStatement, type Action } from './screens.ts';
import { failureText, texts } from './texts.ts';
import type { ConnectionResult } from './sdk-types.ts';

/** How long the good news stays before the modal closes by itself. */
const SUCCESS_MS = 2_500;
/** Failures that the same once more cannot mend. */
const LASTING = new Set(['unauthorized', 'token_expired', 'forbidden', 'user_not_found', 'no_apps']);

/** The connect page inside the SDK's modal: another origin embeds it and hands over the user's token. */
export async function runModal(environment: string): Promise<void> {
  const frame = drawFrame(() => void leave());
  if (window.parent === window) {
    return frame.show(
      drawStatement({ figure: badged(undefined, 'bad'), title: texts.failedTitle, lead: texts.notEmbedded }),
    );
  }
  frame.show(drawLoading(texts.loading));

  let session: Session | undefined;
  /** What came of it, once that is settled: told when the user leaves. */
  let result: ConnectionResult | undefined;
  let stopWaiting = (): void => {};
  let closing: ReturnType<typeof setTimeout> | undefined;

  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') void leave();
  });
  window.addEventListener('pagehide', () => void cancel());
  const { start, tell } = await startOf(() => void leave());
  const call: Call = caller(start.token);
  await begin();

  /** Makes a session. After a failure the user is led back to the app that was chosen. */
  async function begin(chosen?: AppView): Promise<void> {
    const answer = await makeSession(call, { environment, ...wishOf(start) });
    if (!answer.ok) return fail(answer.problem, chosen);
    session = answer.value;
    know(undefined);
    frame.know(session);
    const { connectors } = session;
    const only =
      connectors.length === 1
        ? connectors[0]
        : connectors.find(({ connectorId }) => connectorId === chosen?.connectorId);
    if (only) showAccount(session, only);
    else if (connectors.length > 0) showChooser(session);
    else fail({ code: 'no_apps', message: texts.noApps, faults: [] });
  }

  function showChooser(on: Session): void {
    frame.show(
      drawList(
        on,
        drawChooser(on.connectors, (app) => showAccount(on, app)),
      ),
    );
  }

  function showAccount(on: Session, app: AppView): void {
    const screen = drawAccount({
      session: on,
      app,
      asking: false,
      submit: (choice) =>
        choice.type === 'oauth2' ? consent(on, app, choice, show) : store(on, app, choice),
    });
    const show = (): void =>
      frame.show(screen, { back: on.connectors.length > 1 ? () => showChooser(on) : undefined });
    show();
  }

  async function store(on: Session, app: AppView, choice: Choice): Promise<Problem | undefined> {
    const answer = await call<Outcome>('POST', `/connect/sessions/${on.sessionId}/credentials`, choice);
    if (answer.ok) return void settle(on, app, answer.value.result);
    return isOver(answer.problem) ? void fail(answer.problem, app) : answer.problem;
  }

  /** Ends with a problem where the service refuses what was typed: then the form is there again, `back`. */
  function consent(
    on: Session,
    app: AppView,
    choice: Choice,
    back: () => void,
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
          leave: () => void leave(),
        },
        {
          settled: (outcome) => resolve(void settle(on, app, outcome)),
          failed: (problem) => resolve(void fail(problem, app)),
          refused(problem) {
            back();
            resolve(problem);
          },
        },
      );
    });
  }

  /** The whole page goes to the app, where it may come back; else a link opens a tab, which no browser blocks. */
  async function elsewhere(on: Session, app: AppView, choice: Choice): Promise<Action> {
    const { returnTo, state } = start;
    const wish = { environment, app: app.connectorId, returnTo, state };
    const answer = returnTo === undefined ? undefined : await makeSession(call, wish);
    if (!answer?.ok) return { label: texts.blockedTab(app.name), href: addressOf(on, choice) };
    const url = addressOf(answer.value, choice);
    return { label: texts.blockedHere(app.name), run: () => tell({ gatehouse: 'redirect', url }) };
  }

  function settle(on: Session, app: AppView, outcome: ConnectionResult): void {
    if (!outcome.success) return fail({ code: outcome.error, message: outcome.message, faults: [] }, app);
    know(outcome);
    frame.show(
      drawStatement({
        figure: badged(app, 'good'),
        title: texts.successTitle(app.name),
        lead: texts.successLead(app.name, on.branding.name),
        actions: [{ label: texts.done, run: () => void leave() }],
      }),
    );
    closing = setTimeout(() => void leave(), SUCCESS_MS);
  }

  function fail(problem: Problem, app?: AppView): void {
    const brand = session?.branding.name ?? texts.theService;
    const message = isOver(problem)
      ? texts.tookTooLong
      : failureText(problem, brand, app?.name ?? texts.anApp);
    know({ success: false, error: problem.code, message });
    const close = { label: texts.close, run: () => void leave() };
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

  /** The page around is told at once, in case that it goes away before the user leaves this one. */
  function know(outcome: ConnectionResult | undefined): void {
    result = outcome;
    tell({ gatehouse: 'settled', result });
  }

  async function leave(): Promise<void> {
    clearTimeout(closing);
    stopWaiting();
    const outcome = result ?? (await cancel());
    result = outcome;
    tell({ gatehouse: 'result', result: outcome });
  }

  /** Ends the session, unless it came to an end already: then that is the result. Sent even when the page goes away. */
  async function cancel(): Promise<ConnectionResult> {
    const closed: ConnectionResult = { success: false, error: 'closed', message: texts.failures.closed() };
    if (!session || result) return result ?? closed;
    const answer = await call<Outcome>('POST', `/connect/sessions/${session.sessionId}/cancel`, {}, true);
    return answer.ok ? answer.value.result : closed;
  }
}

/** The session is: the user may begin anew, where a link would have to be asked for. */
function isOver({ code }: Problem): boolean {
  return code === 'connect_session_expired' || code === 'connect_session_not_found';
}

type Wish = Partial<Omit<Start, 'token'>> & { environment: string };

function makeSession(call: Call, wish: Wish) {
  return call<Session>('POST', '/connect/sessions', wish);
}

/** A window does not go back to the application's page, so the way back is for the redirect alone. */
function wishOf({ app, category, connectors }: Start): Partial<Start> {
  return { app, category, connectors };
}

/** The session's link on this very origin. What was chosen travels behind the #, which no server sees. */
function addressOf({ link = '' }: Session, { connectorId, type }: Choice): string {
  return `${BASE}/connect/s/${link.split('/').at(-1)}#${connectorId}/${type}`;
}
