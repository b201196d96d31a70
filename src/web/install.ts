import type { ConfigSchema, FieldSchema, InstallForm, Problem } from './api.ts';
import { createConnecting, type Connecting, type Modal } from './connecting.ts';
import { h, icon, newId } from './dom.ts';
import { keepDraft, takeDraft } from './draft.ts';
import { drawForm } from './form.ts';
import { badged, drawStatement } from './screens.ts';
import type { Installed, InstallationResult, NotConnected } from './sdk-types.ts';
import { failureText, refusalText, texts } from './texts.ts';

type App = InstallForm['connectors'][number];

/** Creates the flow that installs a workflow inside the modal: its accounts, its fields, and the result. */
export function createInstalling(
  modal: Modal,
  workflowId: string,
  { know, installed }: { know(outcome: InstallationResult | undefined): void; installed(): void },
): { begin(): Promise<void>; cancel(): Promise<NotConnected> } {
  const { frame, call, leave, start } = modal;
  const path = `/workflows/${encodeURIComponent(workflowId)}/install`;
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
    const answer = await call<InstallForm>('GET', path);
    if (!answer.ok) return fail(answer.problem);
    know(undefined);
    const form = answer.value;
    frame.know(form);
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
    const { name, branding, installation } = form;
    const fields = drawForm({
      inputSchema: textual(form, typed),
      docsUrl: null,
    });
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
      const missing = apps.find((app) => accountOf(app) === undefined);
      if (missing) return refuse(texts.accountMissing(missing.name));
      const read = configOf(form, values);
      if (read.faults.length > 0) return void fields.showFaults(read.faults);
      alert.replaceChildren();
      button.classList.add('busy');
      text.textContent = texts.saving;
      const credentials = Object.fromEntries(apps.map((app) => [app.connectorId, accountOf(app) ?? '']));
      const answer = await call<Omit<Installed, 'success'>>(installation ? 'PUT' : 'POST', path, {
        body: { config: read.config, credentials },
      });
      button.classList.remove('busy');
      text.textContent = label;
      if (answer.ok) return showInstalled(form, answer.value);
      const faults = answer.problem.faults.map(({ field, rule }) => ({
        field: field.replace(/^config\./, 'data.'),
        rule,
      }));
      if (!fields.showFaults(faults)) refuse(refusalText(answer.problem, branding.name, name));
    };

    const connect = (app: App): void => {
      typed = fields.values();
      connecting = createConnecting(modal, {
        input: { app: app.connectorId },
        know: () => {},
        connected(_session, _app, outcome) {
          chosen.set(app.connectorId, outcome.credentialId);
          void begin();
        },
        back: () => void connecting?.cancel().then(begin),
        keep: (state) =>
          keepDraft(state, {
            connectorId: app.connectorId,
            typed: typed ?? {},
            chosen: Object.fromEntries(chosen),
          }),
      });
      void connecting.begin();
    };

    frame.show(
      h(
        'section',
        { class: 'screen' },
        h('h1', { tabindex: '-1' }, texts.installTitle(name)),
        h('p', { class: 'lead' }, (installation ? texts.changeLead : texts.installLead)(branding.name)),
        h(
          'form',
          { novalidate: true, onsubmit: (event) => void send(event) },
          alert,
          apps.length === 0 ? undefined : drawAccounts(apps, connect),
          fields.element,
          button,
        ),
      ),
    );
    return refuse;
  }

  /** Returns the chosen account if it exists, else the first. */
  function accountOf({ connectorId, credentials }: App): string | undefined {
    const wanted = chosen.get(connectorId);
    return (credentials.find(({ credentialId }) => credentialId === wanted) ?? credentials[0])?.credentialId;
  }

  function drawAccounts(apps: App[], connect: (app: App) => void): HTMLElement {
    return h(
      'div',
      { class: 'fields', role: 'group', 'aria-label': texts.accounts },
      ...apps.map((app) => drawAccount(app, () => connect(app))),
    );
  }

  function drawAccount(app: App, connect: () => void): HTMLElement {
    const id = newId();
    const none = app.credentials.length === 0;
    const another = h(
      'button',
      { type: 'button', class: none ? 'secondary outline' : 'quiet', onclick: connect },
      none ? texts.connect(app.name) : texts.connectAnother(app.name),
    );
    if (none) return h('div', { class: 'field' }, h('label', {}, texts.accountOf(app.name)), another);
    const current = accountOf(app);
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

  function showInstalled({ name, branding }: InstallForm, made: Omit<Installed, 'success'>): void {
    const { installationId, version } = made;
    know({ success: true, installationId, workflowId, version });
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
    know({ success: false, error: problem.code, message });
    frame.show(
      drawStatement({
        figure: badged(undefined, 'bad'),
        title: texts.failedTitle,
        lead: message,
        actions: [
          { label: texts.tryAgain, run: () => void begin() },
          { label: texts.close, run: leave },
        ],
      }),
    );
  }
}

/** The service shows this in place of a secret. */
const MASK = '[secret]';
const NUMBER = String.raw`^-?\d{1,15}(\.\d{1,10})?$`;
const WHOLE = String.raw`^-?\d{1,15}$`;

/**
 * Returns the fields as a form of texts. Their values are the typed ones, else the installed ones, else the defaults.
 */
function textual(
  { configurableFields: { properties = {}, required = [] }, installation }: InstallForm,
  typed: Record<string, string> | undefined,
): { properties: Record<string, FieldSchema>; required: string[] } {
  const fields = Object.entries(properties).map(([name, schema]): [string, FieldSchema] => {
    const { default: usual, enum: values, ...rest } = schema;
    const stands = typed ? typed[name] : textOf(installation?.config[name] ?? usual, schema);
    const kind = kindOf(schema);
    return [
      name,
      {
        ...rest,
        ...(kind === 'number'
          ? { pattern: [schema.type].flat().includes('integer') ? WHOLE : NUMBER, examples: ['3'] }
          : {}),
        ...(kind === 'json' ? { contentMediaType: 'application/json' } : {}),
        ...(kind === 'yes' ? { enum: [texts.yes, texts.no] } : {}),
        ...(values && kind !== 'yes' ? { enum: values.map((value) => textOf(value, {}) ?? '') } : {}),
        ...(schema.format === 'password' ? { writeOnly: true } : {}),
        ...(stands === undefined ? {} : { default: stands }),
        // The mask stands for the stored value. The service checks a value that replaces it.
        ...(stands === MASK ? { pattern: '' } : {}),
      },
    ];
  });
  return { properties: Object.fromEntries(fields), required };
}

function kindOf({ type, enum: values }: ConfigSchema): 'text' | 'number' | 'yes' | 'json' {
  if (values) return values.every((value) => typeof value === 'string') ? 'text' : 'json';
  const types = new Set([type].flat());
  if (types.has('boolean')) return 'yes';
  if (types.has('integer') || types.has('number')) return 'number';
  return types.has('array') || types.has('object') ? 'json' : 'text';
}

function textOf(value: unknown, schema: ConfigSchema): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (kindOf(schema) === 'yes') return value === true ? texts.yes : texts.no;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Returns the typed values in the types of the fields. Faults name fields as the form does. */
function configOf(
  { configurableFields: { properties = {} } }: InstallForm,
  values: Record<string, string>,
): { config: Record<string, unknown>; faults: Problem['faults'] } {
  const config: Record<string, unknown> = {};
  const faults: Problem['faults'] = [];
  for (const [name, text] of Object.entries(values)) {
    const kind = kindOf(properties[name] ?? {});
    if (kind === 'text' || text === MASK) config[name] = text;
    else if (kind === 'number') config[name] = Number(text);
    else if (kind === 'yes') config[name] = text === texts.yes;
    else {
      try {
        config[name] = JSON.parse(text);
      } catch {
        faults.push({ field: `data.${name}`, rule: texts.faults.json });
      }
    }
  }
  return { config, faults };
}
