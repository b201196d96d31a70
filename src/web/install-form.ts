import type { InstallForm, Problem } from './api.ts';
import { h, icon, newId } from './dom.ts';
import { drawForm } from './form.ts';
import { configOf, textual } from './install-fields.ts';
import { refusalText, texts } from './page-texts.ts';

export type App = InstallForm['connectors'][number];
/** The chosen account by app. */
type Chosen = Map<string, string>;

/** The input of an installation: the values of its fields, and an account for each app. */
export interface InstallInput {
  config: Record<string, unknown>;
  credentials: Record<string, string>;
}

interface Installing {
  /** The values that the user typed before; undefined at the first time. */
  typed: Record<string, string> | undefined;
  chosen: Chosen;
  /** Sends the form. Returns the problem when the service refuses it. */
  save(input: InstallInput): Promise<Problem | undefined>;
  /** Connects another account, and keeps the typed values. */
  connect(app: App, typed: Record<string, string>): void;
}

/** Draws the form of an installation. `refuse` shows a sentence above it. */
export function drawInstall(
  form: InstallForm,
  { typed, chosen, save, connect }: Installing,
): { element: HTMLElement; refuse(sentence: string): void } {
  const { name, branding, installation } = form;
  const fields = drawForm({ inputSchema: textual(form, typed), docsUrl: null });
  const alert = h('div', { role: 'alert' });
  const label = installation ? texts.save : texts.install;
  const text = h('span', {}, label);
  const button = h('button', { class: 'primary' }, text);
  const apps = form.connectors.filter(({ needsAccount }) => needsAccount);
  const refuse = (sentence: string): void =>
    alert.replaceChildren(h('p', { class: 'alert' }, icon('warning'), h('span', {}, sentence)));

  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (button.classList.contains('busy')) return;
    const values = fields.read();
    if (!values) return;
    const missing = apps.find((app) => accountOf(chosen, app) === undefined);
    if (missing) return refuse(texts.accountMissing(missing.name));
    const read = configOf(form, values);
    if (read.faults.length > 0) return void fields.showFaults(read.faults);
    alert.replaceChildren();
    button.classList.add('busy');
    text.textContent = texts.saving;
    const accounts = apps.map((app) => [app.connectorId, accountOf(chosen, app) ?? ''] as const);
    const problem = await save({ config: read.config, credentials: Object.fromEntries(accounts) });
    button.classList.remove('busy');
    text.textContent = label;
    if (!problem) return;
    const faults = problem.faults.map(({ field, rule }) => ({
      field: field.replace(/^config\./, 'data.'),
      rule,
    }));
    if (!fields.showFaults(faults)) refuse(refusalText(problem, branding.name, name));
  };

  const element = h(
    'section',
    { class: 'screen' },
    h('h1', { tabindex: '-1' }, texts.installTitle(name)),
    h('p', { class: 'lead' }, (installation ? texts.changeLead : texts.installLead)(branding.name)),
    h(
      'form',
      { novalidate: true, onsubmit: (event) => void send(event) },
      alert,
      apps.length === 0 ? undefined : drawAccounts(apps, chosen, (app) => connect(app, fields.values())),
      fields.element,
      button,
    ),
  );
  return { element, refuse };
}

/** Returns the chosen account if it exists, else the first. */
function accountOf(chosen: Chosen, { connectorId, credentials }: App): string | undefined {
  const wanted = chosen.get(connectorId);
  return (credentials.find(({ credentialId }) => credentialId === wanted) ?? credentials[0])?.credentialId;
}

function drawAccounts(apps: App[], chosen: Chosen, connect: (app: App) => void): HTMLElement {
  return h(
    'div',
    { class: 'fields', role: 'group', 'aria-label': texts.accounts },
    ...apps.map((app) => drawAccount(app, chosen, () => connect(app))),
  );
}

function drawAccount(app: App, chosen: Chosen, connect: () => void): HTMLElement {
  const id = newId();
  const none = app.credentials.length === 0;
  const another = h(
    'button',
    { type: 'button', class: none ? 'secondary outline' : 'quiet', onclick: connect },
    none ? texts.connect(app.name) : texts.connectAnother(app.name),
  );
  if (none) return h('div', { class: 'field' }, h('label', {}, texts.accountOf(app.name)), another);
  const current = accountOf(chosen, app);
  const select = h(
    'select',
    { id, onchange: () => void chosen.set(app.connectorId, select.value) },
    ...app.credentials.map(({ credentialId, name }) =>
      h('option', { value: credentialId, selected: credentialId === current }, name),
    ),
  );
  return h(
    'div',
    { class: 'field' },
    h('label', { for: id }, texts.accountOf(app.name)),
    h('div', { class: 'control' }, select),
    another,
  );
}
