import type { Modal } from './account-screen.ts';
import type { Environment } from './api.ts';
import { drawFrame } from './frame.ts';
import { startOf } from './messages.ts';
import { caller } from './page-call.ts';
import { failureText, texts } from './page-texts.ts';
import { createConnections } from './portal-connections.ts';
import { createDeliveries } from './portal-deliveries.ts';
import { portalTexts } from './portal-texts.ts';
import type { Portal } from './portal-view.ts';
import { drawFailure, drawLoading } from './screens.ts';

/** Runs the portal inside the SDK's dialog, where another origin embeds it and passes the user's token. */
export async function runPortal(environment: Environment): Promise<void> {
  const frame = drawFrame(() => leave());
  if (window.parent === window) {
    return frame.show(drawFailure(undefined, texts.notEmbedded, []));
  }
  frame.show(drawLoading(texts.loading));
  const connected = new Set<string>();
  const disconnected = new Set<string>();
  let report = (_gatehouse: 'settled' | 'result'): void => {};
  let cancel = async (): Promise<void> => {};

  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') leave();
  });
  window.addEventListener('pagehide', () => void cancel());
  const { start, tell } = await startOf(leave);
  const call = caller(() => start.token);
  const modal: Modal = { frame, call, environment, start, tell, leave };
  report = (gatehouse) => {
    const result = { success: true, connected: [...connected], disconnected: [...disconnected] };
    tell({ gatehouse, result });
  };
  report('settled');
  await open();

  async function open(): Promise<void> {
    const answer = await call('GET', '/connect/portal', { query: { environment } });
    if (!answer.ok) {
      const again = { label: portalTexts.tryAgain, run: () => void open() };
      const lead = failureText(answer.problem, texts.theService);
      return frame.show(drawFailure(undefined, lead, [again, { label: texts.close, run: leave }]));
    }
    const view = answer.value;
    frame.setSession(view);
    const portal: Portal = {
      modal,
      call,
      view,
      open: (section) => void (section === 'connections' ? connections.show() : deliveries.show()),
      changed(change, credentialId) {
        (change === 'connected' ? connected : disconnected).add(credentialId);
        report('settled');
      },
    };
    const connections = createConnections(portal);
    const deliveries = createDeliveries(portal);
    cancel = connections.cancel;
    await connections.show();
  }

  /** Ends a connection that is under way, and the portal. */
  function leave(): void {
    void cancel().then(() => report('result'));
  }
}
