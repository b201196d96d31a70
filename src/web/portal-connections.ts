import { drawDisconnect } from './account-list.ts';
import type { Problem } from './api.ts';
import { createConnecting, type Connecting } from './connecting.ts';
import { h } from './dom.ts';
import { failureText, texts } from './page-texts.ts';
import { drawAccountRow } from './portal-account.ts';
import { portalTexts } from './portal-texts.ts';
import { drawMore, drawSection, type Page, type Portal, type PortalAccount } from './portal-view.ts';
import { drawFailure, drawNotice, type Notice } from './screens.ts';

/** The section of the user's accounts. */
export interface Connections {
  show(notice?: Notice): Promise<void>;
  /** Ends a connection that is under way. */
  cancel(): Promise<void>;
}

export function createConnections(portal: Portal): Connections {
  const { call, modal, view } = portal;
  const brand = view.branding.name;
  let connecting: Connecting | undefined;
  return { show, cancel };

  async function cancel(): Promise<void> {
    const ending = connecting;
    connecting = undefined;
    await ending?.cancel();
  }

  async function show(notice?: Notice): Promise<void> {
    connecting = undefined;
    const first = await read();
    if (!first.ok) return showFailure(first.problem);
    const list = h('ul', { class: 'connections', 'aria-label': portalTexts.connections });
    const end = h('div');
    const add = ({ data, pagination: { nextCursor } }: Page<PortalAccount>): void => {
      list.append(...data.map(drawAccount));
      end.replaceChildren(...(nextCursor === undefined ? [] : [drawMore(() => readMore(nextCursor))]));
    };
    const readMore = async (cursor: string): Promise<void> => {
      const next = await read(cursor);
      if (next.ok) add(next.value);
      else showFailure(next.problem);
    };
    add(first.value);
    const isEmpty = first.value.data.length === 0;
    const look = isEmpty ? 'primary connect' : 'secondary outline connect';
    const connectApp = h(
      'button',
      { type: 'button', class: look, onclick: () => connect({}) },
      portalTexts.connectApp,
    );
    const content = isEmpty ? h('p', { class: 'nothing' }, portalTexts.noConnections) : list;
    modal.frame.show(
      drawSection(portal, 'connections', notice && drawNotice(notice), content, end, connectApp),
    );
  }

  function read(cursor?: string) {
    return call('GET', '/connect/portal/accounts', { query: { cursor } });
  }

  function showFailure(problem: Problem): void {
    const again = { label: portalTexts.tryAgain, run: () => void show() };
    const close = { label: texts.close, run: modal.leave };
    modal.frame.show(drawFailure(undefined, failureText(problem, brand), [again, close]));
  }

  function drawAccount(account: PortalAccount): HTMLElement {
    return drawAccountRow({
      account,
      brand,
      reconnect: () => connect({ credentialId: account.credentialId }),
      check: () => check(account),
      disconnect: () => confirmDisconnect(account),
    });
  }

  async function check({ credentialId, name, app }: PortalAccount): Promise<void> {
    const answer = await call('POST', '/connect/portal/accounts/{credentialId}/check', {
      path: { credentialId },
    });
    if (!answer.ok) return show({ text: failureText(answer.problem, brand, app.name), bad: true });
    const { checked, state } = answer.value;
    if (!checked) return show({ text: portalTexts.notCheckable(name, app.name) });
    if (state === 'active') return show({ text: portalTexts.checkedGood(name) });
    return show({ text: portalTexts.checkedBad(name, app.name), bad: true });
  }

  function confirmDisconnect({ credentialId, name, app }: PortalAccount): void {
    const back = (): void => void show();
    let sent = false;
    const disconnect = async (): Promise<void> => {
      if (sent) return;
      sent = true;
      const answer = await call('DELETE', '/connect/accounts/{credentialId}', { path: { credentialId } });
      if (answer.ok) portal.changed('disconnected', credentialId);
      // Another window may have disconnected the account before.
      const isGone = answer.ok || answer.problem.code === 'credential_not_found';
      if (isGone) return show({ text: texts.disconnected(name) });
      return show({ text: failureText(answer.problem, brand, app.name), bad: true });
    };
    const screen = drawDisconnect({ app, name, brand, disconnect: () => void disconnect(), cancel: back });
    modal.frame.show(screen, { back, backLabel: texts.backToAccounts });
  }

  /** Connects another account, or the given one again. */
  function connect(input: { credentialId?: string }): void {
    connecting = createConnecting(modal, {
      input,
      report: () => {},
      connected(_session, app, { credentialId, name }) {
        portal.changed('connected', credentialId);
        void show({ text: portalTexts.connected(name ?? app.name) });
      },
      back: () => void cancel().then(() => show()),
    });
    void connecting.begin();
  }
}
