import { appHeading } from './app-heading.ts';
import { button, el, icon } from './elements.ts';
import type { Host } from './host-bridge.ts';
import { isObject, objectOf, textOf, type JsonObject } from './json-values.ts';
import type { AppFacts, ConnectFacts } from './shown-facts.ts';

/* The view of a link that connects an account. */

/** Pauses between two questions to the server: short at first, then longer. */
const FIRST_PAUSE_MS = 1500;
const MAX_PAUSE_MS = 15_000;
/** How long a link is valid. */
const LIFETIME_MS = 15 * 60_000;
const ACCOUNTS_TOOL = 'list_credentials_svc';

/** Draws the app, what it needs and the button that opens the link. Shows when the account is connected. */
export function connectCard(host: Host, app: AppFacts, facts: ConnectFacts): HTMLElement {
  const state = el('p', { class: 'state', role: 'status' });
  const open = button({ class: 'primary' }, [icon('open'), `Connect ${app.name}`], () => void opened());
  const check = button({ class: 'quiet', hidden: '' }, ['Check now'], () => void ask());
  const acts = el('div', { class: 'acts' }, open, check);
  const needs = el('ul', { class: 'needs' }, ...facts.ways.map((way) => wayItem(way, app)));
  const note = el(
    'p',
    { class: 'soft' },
    'Opens a page of Gatehouse in your browser. What you enter there never reaches this conversation.',
  );
  const heading = facts.ways.length > 1 ? 'One of these is needed' : 'This is needed';
  const card = el(
    'section',
    { class: 'card' },
    appHeading(app, `Connect ${app.name}`, 'The assistant can use this app once your account is connected.'),
    ...(facts.ways.length > 0 ? [el('h2', {}, heading), needs] : []),
    acts,
    state,
    note,
  );

  let endsAt = 0;
  let pause = FIRST_PAUSE_MS;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let asking = false;
  const asks = host.can('serverTools');

  const opened = async () => {
    const isOpen = host.can('openLinks') && (await host.openLink(facts.url));
    if (!isOpen) acts.replaceChildren(linkField(facts.url), check);
    state.replaceChildren(
      asks ? 'Waiting for your account …' : 'Once it is connected, write to the assistant to go on.',
    );
    state.dataset['waiting'] = String(asks);
    if (!asks) return;
    check.hidden = false;
    endsAt = Date.now() + LIFETIME_MS;
    pause = FIRST_PAUSE_MS;
    askLater();
  };
  const askLater = () => {
    clearTimeout(timer);
    if (endsAt === 0) return;
    if (Date.now() > endsAt) return expired();
    timer = setTimeout(() => void ask(), pause);
    pause = Math.min(pause * 1.3, MAX_PAUSE_MS);
  };
  const ask = async () => {
    if (asking || card.dataset['connected'] !== undefined) return;
    asking = true;
    try {
      const { credentials } = await host.callTool(ACCOUNTS_TOOL, { connectorId: app.connectorId });
      const account = Array.isArray(credentials) ? credentials.find((one) => isNew(one, facts)) : undefined;
      if (account !== undefined) return connected(objectOf(account));
    } catch (error) {
      if (endsAt > 0)
        state.replaceChildren(
          `Could not check yet: ${String(error instanceof Error ? error.message : error)}`,
        );
    } finally {
      asking = false;
    }
    askLater();
  };
  const connected = (account: JsonObject) => {
    clearTimeout(timer);
    card.dataset['connected'] = '';
    const name = textOf(objectOf(account['account'])['name']) ?? textOf(account['name']) ?? app.name;
    state.dataset['waiting'] = 'false';
    state.replaceChildren(icon('check'), 'The assistant can use this app now.');
    card.replaceChildren(appHeading(app, `${app.name} is connected`, `Account: ${name}`), state);
    host.informModel(`The user has connected an account of ${app.connectorId}.`);
  };
  const expired = () => {
    state.dataset['waiting'] = 'false';
    state.replaceChildren('The link has expired. Ask the assistant for a new one.');
    acts.remove();
  };

  if (asks) {
    // A host draws a conversation again, and the account may be connected by then.
    void ask();
    document.addEventListener('visibilitychange', () => {
      if (document.visibilityState === 'visible' && endsAt > 0) void ask();
    });
  }
  return card;
}

/** Returns whether an account works now that did not work when the link was made, or was connected again since. */
function isNew(account: unknown, { known, again }: ConnectFacts): boolean {
  if (!isObject(account) || account['state'] !== 'active') return false;
  if (!known.includes(String(account['credentialId']))) return true;
  // Both are times of one form in UTC, so they compare as text.
  return (
    again !== undefined &&
    account['credentialId'] === again.credentialId &&
    String(account['updatedAt']) > again.since
  );
}

function wayItem({ title, fields }: ConnectFacts['ways'][number], { name }: AppFacts): HTMLElement {
  const others = fields.filter((field) => field !== title);
  return el(
    'li',
    {},
    el('strong', {}, fields.length === 0 ? `${title} at ${name}` : title),
    others.length > 0 ? el('span', { class: 'soft' }, `: ${others.join(', ')}`) : undefined,
  );
}

/** Returns the address to copy, for hosts that open no links. */
function linkField(url: string): HTMLElement {
  const field = el('input', { type: 'text', readonly: '', value: url, 'aria-label': 'Address to open' });
  field.addEventListener('focus', () => field.select());
  return el(
    'label',
    { class: 'link' },
    el('span', { class: 'soft' }, 'Open this address in your browser:'),
    field,
  );
}
