import {
  isOver,
  type AccountOffer,
  type AppView,
  type Call,
  type OfferedAccount,
  type Outcome,
  type Problem,
  type Session,
} from './api.ts';
import { h, icon } from './dom.ts';
import { pairOf } from './screens.ts';
import { failureText, texts } from './page-texts.ts';

/** From this many accounts on, the list has a search. */
const MANY = 8;

interface AccountPick {
  call: Call;
  session: Session;
  app: AppView;
  offer: AccountOffer;
  /** Called once, with the result of the choice. */
  connected(outcome: Outcome): void;
  /** Called when the session is over, because it expired or another window ended it. */
  over(problem: Problem): void;
  cancel(): void;
}

/** Draws the screen in which the user chooses one of the accounts that a consent reaches. */
export function drawAccountChoice(pick: AccountPick): HTMLElement {
  const { session, app, offer, cancel } = pick;
  const brand = session.branding.name;
  const path = { sessionId: session.sessionId };
  const alert = h('div', { role: 'alert' });
  let sent = false;
  const rows = offer.accounts.map((account) => ({
    text: `${account.label} ${account.detail ?? ''}`.toLowerCase(),
    element: drawRow(account, (row) => void choose(account, row)),
  }));
  return h(
    'section',
    { class: 'screen' },
    pairOf(session, app),
    h('h1', { tabindex: '-1' }, texts.pickTitle(app.name)),
    h('p', { class: 'lead' }, texts.pickLead(brand, app.name)),
    alert,
    rows.length < MANY ? undefined : drawSearch(rows),
    h('ul', { class: 'apps', 'aria-label': texts.accounts }, ...rows.map(({ element }) => element)),
    h('button', { type: 'button', class: 'secondary', onclick: () => cancel() }, texts.cancel),
  );

  /** Sends one choice at a time. After a refusal the user can choose another account. */
  async function choose({ accountId }: OfferedAccount, row: HTMLElement): Promise<void> {
    if (sent) return;
    sent = true;
    row.ariaBusy = 'true';
    alert.replaceChildren();
    const answer = await pick.call('POST', '/connect/sessions/{sessionId}/choice', {
      path,
      body: { accountId },
    });
    row.ariaBusy = null;
    sent = false;
    if (answer.ok) return pick.connected(answer.value);
    const { problem } = answer;
    if (isOver(problem)) return showEnd(problem);
    const sentence = failureText(problem, brand, app.name);
    alert.replaceChildren(h('p', { class: 'alert' }, icon('warning'), h('span', {}, sentence)));
  }

  /** Shows the result where another window or the operator chose first. */
  async function showEnd(problem: Problem): Promise<void> {
    const read = await pick.call('GET', '/connect/sessions/{sessionId}', { path });
    const result = read.ok ? read.value.result : undefined;
    if (result) pick.connected({ result });
    else pick.over(problem);
  }
}

function drawRow(
  { label, detail, connected }: OfferedAccount,
  choose: (row: HTMLElement) => void,
): HTMLLIElement {
  const row = h(
    'button',
    { type: 'button', class: 'app', onclick: () => choose(row) },
    h(
      'span',
      { class: 'app-text' },
      h('span', { class: 'app-name' }, label),
      detail === undefined ? undefined : h('span', { class: 'app-about' }, detail),
    ),
    connected ? h('span', { class: 'tag' }, texts.appConnected) : undefined,
    icon('forward'),
  );
  return h('li', {}, row);
}

/** Draws a search that hides the accounts without its words. */
function drawSearch(rows: { text: string; element: HTMLElement }[]): HTMLElement {
  const count = h('p', { class: 'hidden', role: 'status' });
  const search = h('input', {
    type: 'search',
    placeholder: texts.searchAccounts,
    'aria-label': texts.searchAccounts,
    autocomplete: 'off',
    spellcheck: 'false',
  });
  search.addEventListener('input', () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const { text, element } of rows) element.hidden = !words.every((word) => text.includes(word));
    count.replaceChildren(texts.accountsFound(rows.filter(({ element }) => !element.hidden).length));
  });
  return h('div', { class: 'search' }, icon('search'), search, count);
}
