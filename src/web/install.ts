import type { InstallForm, Problem } from './api.ts';
import { createConnecting, type Connecting } from './connecting.ts';
import type { Modal } from './account-screen.ts';
import { keepDraft, takeDraft } from './draft.ts';
import { drawInstall, type App, type InstallInput } from './install-form.ts';
import { badged, drawFailure, drawStatement } from './screens.ts';
import type { Installed, InstallationResult, NotConnected } from './sdk-types.ts';
import { failureText, texts } from './page-texts.ts';

/** Creates the flow that installs a workflow inside the modal: its accounts, its fields, and the result. */
export function createInstalling(
  modal: Modal,
  workflowId: string,
  { report, installed }: { report(outcome: InstallationResult | undefined): void; installed(): void },
): { begin(): Promise<void>; cancel(): Promise<NotConnected> } {
  const { frame, call, leave, start } = modal;
  const path = { workflowId };
  /** The draft and the result of a return from an app, until they are shown. */
  const draft = takeDraft(start.resumed?.state);
  let returned = start.resumed?.result;
  /** The user's choices and typed values, stored while an account is connected. */
  const chosen = new Map(Object.entries(draft?.chosen ?? {}));
  let typed = draft?.typed;
  let connecting: Connecting | undefined;
  return {
    begin,
    async cancel() {
      await connecting?.cancel();
      return { success: false, error: 'closed', message: texts.failures.closed() };
    },
  };

  async function begin(): Promise<void> {
    connecting = undefined;
    const answer = await call('GET', '/workflows/{workflowId}/install', { path });
    if (!answer.ok) return fail(answer.problem);
    report(undefined);
    const form = answer.value;
    frame.setSession(form);
    for (const [id, credentialId] of Object.entries(form.installation?.credentials ?? {}))
      if (!chosen.has(id)) chosen.set(id, credentialId);
    const result = returned;
    returned = undefined;
    for (const { connectorId, credentials } of form.connectors)
      if (result?.success && credentials.some(({ credentialId }) => credentialId === result.credentialId))
        chosen.set(connectorId, result.credentialId);
    const refuse = show(form);
    if (result?.success !== false) return;
    const app = form.connectors.find(({ connectorId }) => connectorId === draft?.connectorId);
    const problem = { code: result.error, message: result.message };
    refuse(failureText(problem, form.branding.name, app?.name ?? texts.anApp));
  }

  /**
   * Shows the form.
   * @returns a function that shows a sentence above it.
   */
  function show(form: InstallForm): (sentence: string) => void {
    const { element, refuse } = drawInstall(form, {
      typed,
      chosen,
      save: (input) => save(form, input),
      connect,
    });
    frame.show(element);
    return refuse;
  }

  async function save(form: InstallForm, input: InstallInput): Promise<Problem | undefined> {
    const method = form.installation ? 'PUT' : 'POST';
    const answer = await call(method, '/workflows/{workflowId}/install', { path, body: input });
    return answer.ok ? void showInstalled(form, answer.value) : answer.problem;
  }

  function connect({ connectorId }: App, values: Record<string, string>): void {
    typed = values;
    connecting = createConnecting(modal, {
      input: { app: connectorId },
      report: () => {},
      connected(_session, _app, outcome) {
        chosen.set(connectorId, outcome.credentialId);
        void begin();
      },
      back: () => void connecting?.cancel().then(begin),
      keep: (state) => keepDraft(state, { connectorId, typed: values, chosen: Object.fromEntries(chosen) }),
    });
    void connecting.begin();
  }

  function showInstalled({ name, branding }: InstallForm, made: Omit<Installed, 'success'>): void {
    const { installationId, version } = made;
    report({ success: true, installationId, workflowId, version });
    frame.show(
      drawStatement({
        figure: badged(undefined, 'good'),
        title: texts.installedTitle(name),
        lead: texts.installedLead(branding.name),
        actions: [{ label: texts.done, run: leave }],
      }),
    );
    installed();
  }

  function fail(problem: Problem): void {
    const message = failureText(problem, texts.theService, texts.anApp);
    report({ success: false, error: problem.code, message });
    const again = { label: texts.tryAgain, run: () => void begin() };
    frame.show(drawFailure(undefined, message, [again, { label: texts.close, run: leave }]));
  }
}
