import { drawAccount } from './account.ts';
import { drawAccountChoice } from './draw-account-choice.ts';
import type { AccountOffer, AppView, Choice, Outcome, Problem, Session } from './api.ts';
import { drawChooser } from './chooser.ts';
import { drawFrame, type Frame } from './frame.ts';
import { choiceOfOpener, notifyOpener } from './messages.ts';
import { caller } from './page-call.ts';
import { badged, drawList, drawLoading, drawStatement } from './screens.ts';
import { failureText, texts } from './page-texts.ts';
import type { ConnectionResult } from './sdk-types.ts';

/** Calls with this browser's cookie, which was bound to the session when the link was opened. */
const call = caller();

/**
 * Runs the connect page as a separate page: behind a link, or in the window that the modal opened. It asks before it
 * continues to the third party. It does not ask when the modal of this session, in this browser, passes on the user's
 * choice.
 */
export async function runLink(link: string): Promise<void> {
  const frame = drawFrame();
  frame.show(drawLoading(texts.loading));
  const opened = await call('POST', '/connect/s/{link}/open', { path: { link } });
  if (!opened.ok) return showFailure(frame, opened.problem);
  const session = opened.value;
  frame.setSession(session);
  if (session.result) return showOutcome(frame, session, { result: session.result });
  if (session.choosing) return showAccounts(frame, session, session.choosing);

  const [connectorId, type] = location.hash.slice(1).split('/');
  const preset = session.connectors.find((app) => app.connectorId === connectorId);
  const { choice, page } = (await choiceOfOpener(session.sessionId)) ?? {};
  const chosen = session.connectors.find((app) => app.connectorId === choice?.connectorId);
  if (choice && chosen) {
    frame.show(drawLoading(texts.opening(chosen.name), chosen));
    const problem = await authorize(session, choice, page);
    if (!problem) return undefined;
    // The service does not know the page that chose, so the user is asked.
    if (page === undefined || problem.code !== 'forbidden') {
      notifyOpener(session.sessionId, 'refused', { problem, page });
      return showFailure(frame, problem, { session, app: chosen });
    }
  }
  const only = session.connectors.length === 1 ? session.connectors[0] : preset;
  return only ? showAccount(frame, session, { app: only, type }) : showChooser(frame, session);
}

/**
 * Runs the page after the consent, when no other page waits for it (`?session=`), or when its origin is unknown
 * (`?error=`). A window of the modal closes on its own.
 */
export async function runEnded(query: URLSearchParams): Promise<void> {
  const frame = drawFrame();
  const sessionId = query.get('session');
  if (sessionId === null)
    return showFailure(frame, { code: query.get('error') ?? '', message: '', faults: [] });
  frame.show(drawLoading(texts.loading));
  notifyOpener(sessionId, 'finished');
  const answer = await call('GET', '/connect/sessions/{sessionId}', { path: { sessionId } });
  if (!answer.ok) return showFailure(frame, answer.problem);
  const session = answer.value;
  frame.setSession(session);
  if (session.choosing) {
    showAccounts(frame, session, session.choosing);
    // The modal shows the accounts too, unless the whole page came here.
    if (session.via === 'modal' && !session.returns) window.close();
    return undefined;
  }
  showOutcome(frame, session, { result: session.result ?? closed() });
  if (session.via === 'modal') window.close();
}

function showChooser(frame: Frame, session: Session): void {
  if (session.connectors.length === 0) {
    return showFailure(frame, { code: 'no_apps', message: texts.noApps, faults: [] }, { session });
  }
  frame.show(
    drawList(
      session,
      drawChooser(session.connectors, { choose: (app) => showAccount(frame, session, { app }) }),
    ),
  );
}

function showAccount(
  frame: Frame,
  session: Session,
  { app, type }: { app: AppView; type?: string | undefined },
): void {
  const screen = drawAccount({
    session,
    app,
    type,
    asking: true,
    submit: (choice) =>
      choice.type === 'oauth2' ? authorize(session, choice) : store(frame, session, { app, choice }),
    cancel: () => void cancel(frame, session, app),
  });
  frame.show(screen, {
    back: session.connectors.length > 1 ? () => showChooser(frame, session) : undefined,
  });
}

/** Shows the accounts that a consent reaches. A page that is loaded again shows them again. */
function showAccounts(frame: Frame, session: Session, offer: AccountOffer): void {
  const app = session.connectors.find(({ connectorId }) => connectorId === offer.connectorId);
  if (!app)
    return showFailure(frame, { code: 'connect_session_expired', message: '', faults: [] }, { session });
  frame.show(
    drawAccountChoice({
      call,
      session,
      app,
      offer,
      connected: (outcome) => finish(frame, session, { outcome, app }),
      over: (problem) => showFailure(frame, problem, { session, app }),
      cancel: () => void cancel(frame, session, app),
    }),
  );
}

/** Goes to the app. `page`: origin of the page that chose for the user, if it is not ours. */
async function authorize(
  { sessionId }: Session,
  choice: Choice,
  page?: string,
): Promise<Problem | undefined> {
  const answer = await call('POST', '/connect/sessions/{sessionId}/authorize', {
    path: { sessionId },
    body: { ...choice, page },
  });
  if (!answer.ok) return answer.problem;
  // The link is used now, so going back from the app leads to the page before it.
  location.replace(answer.value.authorizationUrl);
  return undefined;
}

async function store(
  frame: Frame,
  session: Session,
  { app, choice }: { app: AppView; choice: Choice },
): Promise<Problem | undefined> {
  const { sessionId } = session;
  const answer = await call('POST', '/connect/sessions/{sessionId}/credentials', {
    path: { sessionId },
    body: choice,
  });
  if (!answer.ok) return answer.problem;
  finish(frame, session, { outcome: answer.value, app });
  return undefined;
}

async function cancel(frame: Frame, session: Session, app: AppView): Promise<void> {
  const { sessionId } = session;
  const answer = await call('POST', '/connect/sessions/{sessionId}/cancel', { path: { sessionId } });
  if (!answer.ok) return showFailure(frame, answer.problem, { session, app });
  finish(frame, session, { outcome: answer.value, app });
}

function finish(
  frame: Frame,
  session: Session,
  { outcome: { result, redirectTo }, app }: { outcome: Outcome; app: AppView },
): void {
  if (redirectTo !== undefined) {
    frame.show(drawLoading(texts.takingBack(session.branding.name), app));
    location.replace(redirectTo);
    return;
  }
  notifyOpener(session.sessionId, 'finished');
  showOutcome(frame, session, { result, known: app });
  if (session.via === 'modal') window.close();
}

function showOutcome(
  frame: Frame,
  session: Session,
  { result, known }: { result: ConnectionResult; known?: AppView | undefined },
): void {
  if (!result.success) {
    return showFailure(
      frame,
      { code: result.error, message: result.message, faults: [] },
      { session, app: known },
    );
  }
  const app = known ?? session.connectors.find((one) => one.connectorId === result.connectorId);
  const name = app?.name ?? texts.anAccount;
  frame.show(
    drawStatement({
      figure: badged(app, 'good'),
      title: texts.successTitle(name),
      lead: `${texts.successLead(name, session.branding.name)} ${texts.mayClose}`,
    }),
  );
}

function showFailure(
  frame: Frame,
  problem: Problem,
  { session, app }: { session?: Session; app?: AppView | undefined } = {},
): void {
  const brand = session?.branding.name ?? texts.theService;
  const sentence = failureText(problem, brand, app?.name ?? texts.anApp);
  frame.show(
    drawStatement({
      figure: badged(app, 'bad'),
      title: problem.code === 'closed' ? texts.closedTitle : texts.failedTitle,
      lead: `${sentence} ${texts.mayClose}`,
    }),
  );
}

function closed(): ConnectionResult {
  return { success: false, error: 'closed', message: texts.failures.closed() };
}
