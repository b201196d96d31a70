import {
  isOver,
  type AppView,
  type AuthenticationType,
  type Call,
  type Choice,
  type Problem,
  type Session,
} from '../web/api.ts';
import { linkAddress, openConsentWindow, type ConsentWindow } from '../web/consent-window.ts';
import type { ConnectionResult } from '../web/sdk-types.ts';
import {
  checkValues,
  fieldsOf,
  type AccountsState,
  type FormState,
  type StateStore,
} from './connection-state.ts';

/** Calls of the service at `url`, in the user's name. */
interface Service {
  call: Call;
  url: string;
}

/** Creates the steps of a connection, which read and set its state. */
export function createSteps({ call, url }: Service, store: StateStore) {
  let session: Session | undefined;
  /** The form that the window came from. */
  let form: FormState | undefined;
  let consent: ConsentWindow | undefined;
  return {
    begin,
    showApps,
    showForm,
    submit,
    choose,
    openWindow: () => consent?.open(),
    leaveWindow,
    cancel,
  };

  function end(result: ConnectionResult): void {
    consent?.stop();
    store.set({ step: 'done', result });
  }

  function fail({ code, message }: Pick<Problem, 'code' | 'message'>): void {
    end({ success: false, error: code, message });
  }

  async function begin(body: object): Promise<void> {
    const answer = await call('POST', '/connect/sessions', { body });
    if (!answer.ok) return fail(answer.problem);
    session = answer.value;
    // The application may have cancelled before.
    if (store.get().step === 'done') return void endSession(call, session);
    showApps();
  }

  /** Shows the apps; if there is only one, its form. */
  function showApps(): void {
    if (!session) return;
    const { branding: brand, connectors: apps } = session;
    const [app] = apps;
    if (!app) fail({ code: 'no_apps', message: 'There is no app to connect.' });
    else if (apps.length > 1) store.set({ step: 'apps', brand, apps });
    else if (store.get().step === 'loading') showForm(app);
  }

  function showForm(app: AppView, chosen?: AuthenticationType): void {
    const next = session && formOf(session, app, chosen);
    if (next) store.set(next);
  }

  function submit(from: FormState, values: Record<string, string>): void {
    const { app, type } = from;
    const { data, faults } = checkValues(type.inputSchema, values);
    const clean = { ...from, faults, problem: null };
    if (Object.keys(faults).length > 0 || !session) return store.set(clean);
    const choice = { connectorId: app.connectorId, type: type.type, data };
    if (type.type !== 'oauth2') return void send(session, clean, choice);
    form = clean;
    const address = linkAddress(url, session, choice);
    const shown = (blocked: boolean) => store.set({ step: 'window', app, url: address, blocked });
    consent = openConsentWindow(
      { call, session, choice, address },
      {
        opened: () => shown(false),
        blocked: () => shown(true),
        gone: () => {},
        onResult: end,
        choosing: ({ accounts }) =>
          store.set({ step: 'accounts', app, accounts, problem: null, busy: false }),
        refused: (problem) => showProblem(clean, problem),
        failed: fail,
      },
    );
  }

  async function send({ sessionId }: Session, from: FormState, body: Choice): Promise<void> {
    store.set({ ...from, busy: true });
    const answer = await call('POST', '/connect/sessions/{sessionId}/credentials', {
      path: { sessionId },
      body,
    });
    if (answer.ok) end(answer.value.result);
    else showProblem(from, answer.problem);
  }

  function showProblem(from: FormState, problem: Problem): void {
    if (isOver(problem)) fail(problem);
    else store.set(withProblem(from, problem));
  }

  async function choose(from: AccountsState, accountId: string): Promise<void> {
    store.set({ ...from, problem: null, busy: true });
    const answer = await call('POST', '/connect/sessions/{sessionId}/choice', {
      path: { sessionId: session?.sessionId ?? '' },
      body: { accountId },
    });
    if (answer.ok) end(answer.value.result);
    else if (isOver(answer.problem)) fail(answer.problem);
    else store.set({ ...from, problem: answer.problem });
  }

  function leaveWindow(): void {
    consent?.stop();
    if (form) store.set(form);
  }

  /** Ends the connection, with the result of the session if it has one. */
  async function cancel(): Promise<void> {
    consent?.stop();
    const result = session && (await endSession(call, session));
    end(result ?? { success: false, error: 'closed', message: 'Nothing was connected.' });
  }
}

function formOf(
  { branding: brand }: Session,
  app: AppView,
  chosen?: AuthenticationType,
): FormState | undefined {
  const types = app.authentication.toSorted((one, other) => Number(other.ready) - Number(one.ready));
  const type = chosen ?? types[0];
  if (!type) return undefined;
  const fields = fieldsOf(type.inputSchema);
  return { step: 'form', brand, app, types, type, fields, faults: {}, problem: null, busy: false };
}

/** Returns a form with the faults next to their fields, or with another refusal as its problem. */
function withProblem(from: FormState, problem: Problem): FormState {
  const named = problem.faults
    .map(({ field, rule }) => [field.replace(/^data\./, ''), rule])
    .filter(([name]) => from.fields.some((field) => field.name === name));
  return { ...from, faults: Object.fromEntries(named), problem: named.length > 0 ? null : problem };
}

/**
 * Ends a session.
 * @returns its result, because it may have succeeded just before.
 */
async function endSession(call: Call, { sessionId }: Session): Promise<ConnectionResult | undefined> {
  const answer = await call('POST', '/connect/sessions/{sessionId}/cancel', {
    path: { sessionId },
    last: true,
  });
  return answer.ok ? answer.value.result : undefined;
}
