import type { Answer, AppView, Call, ConnectedAccount, Problem, Session } from './api.ts';
import { h, icon } from './dom.ts';
import type { Frame } from './frame.ts';
import { badged, drawNotice, drawStatement, pairOf, type Notice } from './screens.ts';
import { failureText, texts } from './page-texts.ts';

interface Accounts {
  frame: Frame;
  call: Call;
  session: Session;
  app: AppView;
  /** Returns to the list of apps, if the user came from one. */
  back?: (() => void) | undefined;
  use(account: ConnectedAccount): void;
  reconnect(account: ConnectedAccount): void;
  /** Shows the form of another account. `first`: the user has none at this app. */
  another(first: boolean): void;
  failed(problem: Problem): void;
}

interface Disconnection {
  app: { name: string; iconUrl: string | null };
  /** Name of the account. */
  name: string;
  brand: string;
  disconnect(): void;
  cancel(): void;
}

/** Shows the user's accounts of one app, with their actions. Without any account it shows the form of a first one. */
export async function showAccounts(accounts: Accounts, notice?: Notice): Promise<void> {
  const { frame, call, app, back } = accounts;
  const answer = await readAccounts(call, app.connectorId);
  if (!answer.ok) return accounts.failed(answer.problem);
  if (answer.value.length === 0) return accounts.another(true);
  frame.show(drawAccounts(accounts, answer.value, notice), { back });
}

/** Returns the ids of the apps where the user has an account; none when they cannot be read. */
export async function connectedApps(call: Call): Promise<ReadonlySet<string>> {
  const answer = await readAccounts(call);
  return new Set(answer.ok ? answer.value.map(({ connectorId }) => connectorId) : []);
}

/** Reads all pages of the list: the accounts of one app, or of all. */
async function readAccounts(
  call: Call,
  connectorId?: string,
  offset = 0,
): Promise<Answer<ConnectedAccount[]>> {
  const answer = await call('GET', '/connect/accounts', { query: { connectorId, offset } });
  if (!answer.ok) return answer;
  const { data, pagination } = answer.value;
  if (pagination.nextOffset === undefined) return { ok: true, value: data };
  const rest = await readAccounts(call, connectorId, pagination.nextOffset);
  return rest.ok ? { ok: true, value: [...data, ...rest.value] } : rest;
}

function drawAccounts(accounts: Accounts, found: ConnectedAccount[], notice?: Notice): HTMLElement {
  const { session, app } = accounts;
  const several = found.length > 1;
  return h(
    'section',
    { class: 'screen' },
    pairOf(session, app),
    h('h1', { tabindex: '-1' }, texts.accountsTitle(app.name, found.length)),
    h('p', { class: 'lead' }, texts.accountsLead(found.length)),
    notice && drawNotice(notice),
    h(
      'ul',
      { class: 'accounts', 'aria-label': texts.accounts },
      ...found.map((account) => drawAccount(accounts, account, several)),
    ),
    h(
      'button',
      { type: 'button', class: 'secondary outline another', onclick: () => accounts.another(false) },
      texts.connectAnother(app.name),
    ),
  );
}

function drawAccount(accounts: Accounts, account: ConnectedAccount, several: boolean): HTMLElement {
  const { name } = account;
  const healthy = account.state === 'active';
  // Each account has such a button, so the button's name ends with the account's.
  const button = (look: string, label: string, run: () => void): HTMLElement =>
    h('button', { type: 'button', class: look, onclick: run }, label, h('span', { class: 'hidden' }, name));
  const reconnect = (): void => accounts.reconnect(account);
  const markable = several && !account.default;
  return h(
    'li',
    { class: 'account' },
    h(
      'p',
      { class: 'account-name' },
      h('strong', {}, name),
      account.default ? h('span', { class: 'tag' }, texts.accountDefault) : undefined,
      healthy ? undefined : h('span', { class: 'tag lost' }, icon('warning'), texts.accountLost),
    ),
    h('p', { class: 'account-about' }, aboutOf(account)),
    healthy
      ? button('primary', texts.useAccount, () => accounts.use(account))
      : button('primary', texts.reconnect, reconnect),
    h(
      'div',
      { class: 'account-actions' },
      markable ? button('quiet', texts.makeDefault, () => void mark(accounts, account)) : undefined,
      healthy ? button('quiet', texts.reconnect, reconnect) : undefined,
      button('quiet', texts.disconnect, () => confirmDisconnect(accounts, account)),
    ),
  );
}

/** Returns the account as the app names it, where that differs from the name, and when it was connected. */
function aboutOf({ name, account, createdAt }: ConnectedAccount): string {
  const named = account?.name ?? account?.id;
  const since = new Date(createdAt).toLocaleString(texts.language, {
    dateStyle: 'medium',
    timeStyle: 'short',
  });
  return [named === name ? undefined : named, texts.connectedAt(since)]
    .filter((part) => part !== undefined)
    .join(' · ');
}

async function mark(accounts: Accounts, account: ConnectedAccount): Promise<void> {
  const answer = await accounts.call('PUT', '/connect/accounts/{credentialId}', {
    path: { credentialId: account.credentialId },
    body: { default: true },
  });
  return showAccounts(accounts, noticeOf(accounts, answer, texts.isDefault(account.name)));
}

function confirmDisconnect(accounts: Accounts, account: ConnectedAccount): void {
  const { frame, session, app } = accounts;
  let sent = false;
  const disconnect = (): void => {
    if (sent) return;
    sent = true;
    void remove(accounts, account);
  };
  const cancel = (): void => void showAccounts(accounts);
  const { name } = account;
  const screen = drawDisconnect({ app, name, brand: session.branding.name, disconnect, cancel });
  frame.show(screen, { back: cancel, backLabel: texts.backToAccounts });
}

/** Draws the question before an account is disconnected. */
export function drawDisconnect({ app, name, brand, disconnect, cancel }: Disconnection): HTMLElement {
  return drawStatement({
    figure: badged(app, 'bad'),
    title: texts.disconnectTitle(name),
    lead: texts.disconnectLead(brand, app.name),
    actions: [
      { label: texts.disconnect, run: disconnect, danger: true },
      { label: texts.cancel, run: cancel },
    ],
  });
}

async function remove(accounts: Accounts, account: ConnectedAccount): Promise<void> {
  const answer = await accounts.call('DELETE', '/connect/accounts/{credentialId}', {
    path: { credentialId: account.credentialId },
  });
  return showAccounts(accounts, noticeOf(accounts, answer, texts.disconnected(account.name)));
}

/** Returns the line of a change. An account that is already gone needs none, because the list shows it. */
function noticeOf({ session, app }: Accounts, answer: Answer<unknown>, done: string): Notice | undefined {
  if (answer.ok) return { text: done };
  if (answer.problem.code === 'credential_not_found') return undefined;
  return { text: failureText(answer.problem, session.branding.name, app.name), bad: true };
}
