import { h, icon } from './dom.ts';
import { texts } from './page-texts.ts';
import { portalTexts } from './portal-texts.ts';
import { dayText, drawAppIcon, timeText, type PortalAccount } from './portal-view.ts';

interface AccountRow {
  account: PortalAccount;
  /** Name of the application. */
  brand: string;
  reconnect(): void;
  check(): Promise<void>;
  disconnect(): void;
}

/** Draws an account with its app, its state and its actions. */
export function drawAccountRow(row: AccountRow): HTMLElement {
  const { account, reconnect, check, disconnect } = row;
  const isHealthy = account.state === 'active';
  // Each account has such a button, so the button's name ends with the account's.
  const button = (look: string, label: string, run: () => void): HTMLButtonElement =>
    h(
      'button',
      { type: 'button', class: look, onclick: run },
      h('span', {}, label),
      h('span', { class: 'hidden' }, ` ${account.name}`),
    );
  const test = button('quiet', portalTexts.check, () => {
    if (test.ariaDisabled === 'true') return;
    test.ariaDisabled = 'true';
    test.firstElementChild?.replaceChildren(portalTexts.checking);
    void check();
  });
  return h(
    'li',
    { class: 'connection' },
    drawAppIcon(account.app),
    h('div', { class: 'connection-text' }, ...drawFacts(row)),
    h(
      'div',
      { class: 'account-actions' },
      button(isHealthy ? 'quiet' : 'primary', texts.reconnect, reconnect),
      test,
      button('quiet', texts.disconnect, disconnect),
    ),
  );
}

function drawFacts({ account, brand }: AccountRow): HTMLElement[] {
  const { name, app, state, lastUsedAt, createdAt, appMessage } = account;
  const named = account.account?.name ?? account.account?.id;
  const about = [
    app.name === name ? undefined : app.name,
    named === name ? undefined : named,
    texts.connectedAt(dayText(createdAt)),
    lastUsedAt === null ? portalTexts.neverUsed : portalTexts.used(timeText(lastUsedAt)),
  ];
  const facts = [
    h(
      'p',
      { class: 'account-name' },
      h('strong', {}, name),
      account.default ? h('span', { class: 'tag' }, texts.accountDefault) : undefined,
      drawState(state),
    ),
    h('p', { class: 'account-about' }, about.filter((part) => part !== undefined).join(' · ')),
  ];
  if (state === 'active') return facts;
  const reason = [portalTexts.reasons[state](brand, app.name), appMessage && portalTexts.appSays(appMessage)];
  return [...facts, h('p', { class: 'fault' }, reason.filter(Boolean).join(' '))];
}

function drawState(state: PortalAccount['state']): HTMLElement {
  if (state === 'active') return h('span', { class: 'tag good' }, icon('check'), portalTexts.works);
  const text = state === 'revoked' ? portalTexts.revoked : texts.accountLost;
  return h('span', { class: 'tag lost' }, icon('warning'), text);
}
