import type { AppView, Choice, Problem, Session, AuthenticationType } from './api.ts';
import { h, icon, newId } from './dom.ts';
import { drawForm, type Form } from './form.ts';
import { pairOf } from './screens.ts';
import { refusalText, texts } from './page-texts.ts';

interface Account {
  session: Session;
  app: AppView;
  /**
   * Whether the page asks first. In the modal the user chose to connect; a page behind a link names the application
   * and asks.
   */
  asking: boolean;
  /** The authentication type that is selected at first. */
  type?: string | undefined;
  /**
   * Sends the typed values.
   * @returns the problem, which the user may correct.
   */
  submit(choice: Choice): Promise<Problem | undefined>;
  cancel?: (() => void) | undefined;
}

/** Draws the screen of one app: its authentication types, the form of the chosen one, and the submit button. */
export function drawAccount(account: Account): HTMLElement {
  const { session, app, asking, cancel } = account;
  const brand = session.branding.name;
  const place = h('div', { class: 'way' });
  const ways = app.authentication.toSorted((one, other) => Number(other.ready) - Number(one.ready));
  const start = ways.find(({ type, ready }) => ready && type === account.type) ?? ways[0];
  const show = (way: AuthenticationType): void => place.replaceChildren(drawWay(account, way));
  if (start) show(start);

  return h(
    'section',
    { class: 'screen' },
    pairOf(session, app),
    h('h1', { tabindex: '-1' }, titleOf(session, app, asking)),
    h(
      'p',
      { class: 'lead' },
      session.reconnect
        ? texts.reconnectLead(brand, session.reconnect.name)
        : texts.connectLead(brand, app.name),
    ),
    asking
      ? h('p', { class: 'who' }, texts.connectAs, drawUser(session.user.username), texts.notYou)
      : undefined,
    ways.length > 1 && start ? drawWays(app, ways, { start, choose: show }) : undefined,
    place,
    cancel && h('button', { type: 'button', class: 'secondary', onclick: () => cancel() }, texts.cancel),
  );
}

/** Draws a user name. Names are often addresses, and a narrow window should break them after the @. */
function drawUser(username: string): HTMLElement {
  const parts = username.split(/(?<=@)/);
  const broken = parts.flatMap((part, at) => (at === 0 ? [part] : [h('wbr'), part]));
  return h('strong', {}, ...broken);
}

function titleOf({ branding, reconnect }: Session, { name }: AppView, asking: boolean): string {
  if (asking) return (reconnect ? texts.askAgainTitle : texts.askTitle)(branding.name, name);
  return reconnect ? texts.reconnectTitle(name) : texts.connectTitle(name);
}

/** Draws the choice of authentication types. A type that is not set up says why, and cannot be chosen. */
function drawWays(
  { name: app }: AppView,
  ways: AuthenticationType[],
  { start, choose }: { start: AuthenticationType; choose: (way: AuthenticationType) => void },
): HTMLElement {
  const name = newId();
  return h(
    'fieldset',
    { class: 'ways' },
    h('legend', {}, texts.ways),
    ...ways.map((way) =>
      h(
        'label',
        { class: 'way-choice' },
        h('input', {
          type: 'radio',
          name,
          checked: way === start,
          disabled: !way.ready,
          onchange: () => choose(way),
        }),
        h('span', {}, way.title, way.ready ? undefined : h('small', {}, texts.notReady(app))),
      ),
    ),
  );
}

function drawWay({ app, session, submit }: Account, way: AuthenticationType): HTMLElement {
  // The sign-in documents are for the developer who registers an OAuth app, not for users who sign in.
  const form = drawForm(way.type === 'oauth2' ? { ...way, docsUrl: null } : way);
  const label = way.type === 'oauth2' ? texts.continueTo(app.name) : texts.connect(app.name);
  const text = h('span', {}, label);
  const button = h('button', { class: 'primary', disabled: !way.ready }, text);
  const alert = h('div', { role: 'alert' });
  const refuse = (problem: Problem): void => {
    if (form.showFaults(problem.faults)) return;
    const sentence = refusalText(problem, session.branding.name, app.name);
    alert.replaceChildren(h('p', { class: 'alert' }, icon('warning'), h('span', {}, sentence)));
    form.element.querySelector<HTMLElement>('input, textarea, select')?.focus();
  };
  const busy = (on: boolean): void => {
    button.ariaDisabled = String(on);
    button.classList.toggle('busy', on);
    text.textContent = on && way.type !== 'oauth2' ? texts.checking : label;
  };
  if (!way.ready && app.authentication.length === 1) {
    alert.append(h('p', { class: 'alert' }, icon('warning'), h('span', {}, texts.notReady(app.name))));
  }
  return h(
    'form',
    { novalidate: true, onsubmit: (event) => void send(event) },
    alert,
    form.element,
    way.scopes?.length ? drawScopes(way.scopes) : undefined,
    button,
  );

  async function send(event: Event): Promise<void> {
    event.preventDefault();
    const data = valuesOf(form, button);
    if (!data) return;
    alert.replaceChildren();
    busy(true);
    const problem = await submit({ connectorId: app.connectorId, type: way.type, data });
    busy(false);
    if (problem) refuse(problem);
  }
}

/** Returns undefined while the first request runs, so that a second click sends nothing twice. */
function valuesOf(form: Form, button: HTMLButtonElement): Record<string, string> | undefined {
  return button.classList.contains('busy') ? undefined : form.read();
}

function drawScopes(scopes: string[]): HTMLElement {
  return h(
    'details',
    { class: 'scopes' },
    h('summary', {}, texts.scopes),
    h('ul', {}, ...scopes.map((scope) => h('li', {}, h('code', {}, scope)))),
  );
}
