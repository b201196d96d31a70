import type { AppView, Environment, Session } from './api.ts';
import type { Modal } from './account-screen.ts';
import { createConnecting } from './connecting.ts';
import { drawFrame } from './frame.ts';
import { createInstalling } from './install.ts';
import { startOf } from './messages.ts';
import { caller } from './page-call.ts';
import { badged, drawFailure, drawLoading, drawStatement } from './screens.ts';
import type { Connected, ConnectionResult, InstallationResult } from './sdk-types.ts';
import { texts } from './page-texts.ts';

/** How long a success is shown before the modal closes on its own. */
const SUCCESS_MS = 2_500;

type Result = ConnectionResult | InstallationResult;

/** Runs the connect page inside the SDK's modal, where another origin embeds it and passes the user's token. */
export async function runModal(environment: Environment): Promise<void> {
  const frame = drawFrame(() => void leave());
  if (window.parent === window) {
    return frame.show(drawFailure(undefined, texts.notEmbedded, []));
  }
  frame.show(drawLoading(texts.loading));

  /** The final result, sent when the user leaves; undefined before. */
  let result: Result | undefined;
  let closing: ReturnType<typeof setTimeout> | undefined;
  let flow: { begin(): Promise<void>; cancel(): Promise<Result> } | undefined;

  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') void leave();
  });
  window.addEventListener('pagehide', () => void flow?.cancel());
  const { start, tell } = await startOf(() => void leave());
  const call = caller(() => start.token);
  const modal: Modal = { frame, call, environment, start, tell, leave: () => void leave() };
  const { app, category, connectors, workflowId } = start;
  flow =
    workflowId === undefined
      ? createConnecting(modal, { input: { app, category, connectors }, report, connected, manages: true })
      : createInstalling(modal, workflowId, { report, installed: closeSoon });
  await flow.begin();

  function connected({ branding }: Session, one: AppView, outcome: Connected): void {
    report(outcome);
    frame.show(
      drawStatement({
        figure: badged(one, 'good'),
        title: texts.successTitle(one.name),
        lead: texts.successLead(one.name, branding.name),
        actions: [{ label: texts.done, run: modal.leave }],
      }),
    );
    closeSoon();
  }

  function closeSoon(): void {
    closing = setTimeout(() => void leave(), SUCCESS_MS);
  }

  /**
   * Reports the result to the surrounding page at once, because that page may go away before the user leaves this one.
   */
  function report(outcome: Result | undefined): void {
    result = outcome;
    tell({ gatehouse: 'settled', result });
  }

  async function leave(): Promise<void> {
    clearTimeout(closing);
    if (!flow) return;
    result ??= await flow.cancel();
    tell({ gatehouse: 'result', result });
  }
}
