import type { FieldSchema, Problem, AuthenticationType } from './api.ts';
import { h, icon, newId } from './dom.ts';
import { faultOf, inputType, tidy } from './field-rules.ts';
import { texts } from './page-texts.ts';

/** The fields of one authentication type, drawn from its inputSchema. */
export interface Form {
  readonly element: HTMLElement;
  /** Returns the typed values, or undefined after showing their faults; the first faulty field then has the focus. */
  read(): Record<string, string> | undefined;
  /** Returns the current values, valid or not. */
  values(): Record<string, string>;
  /**
   * Shows the service's faults next to their fields.
   * @returns whether one of them is a field of this form.
   */
  showFaults(faults: Problem['faults']): boolean;
}

interface Field {
  name: string;
  element: HTMLElement;
  control: HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;
  value(): string;
  /** Returns the rule that the value breaks, as a sentence. */
  fault(): string | undefined;
  show(fault: string | undefined): void;
}

export function drawForm({
  inputSchema: { properties = {}, required = [] },
  docsUrl,
}: Pick<AuthenticationType, 'inputSchema' | 'docsUrl'>): Form {
  const fields = Object.entries(properties).map(([name, schema]) =>
    drawField(name, schema, required.includes(name)),
  );
  const help =
    docsUrl === null || fields.length === 0
      ? undefined
      : h(
          'a',
          { class: 'help', href: docsUrl, target: '_blank', rel: 'noopener noreferrer' },
          texts.whereToFind,
          icon('outside'),
        );
  const showAll = (faultOf: (field: Field) => string | undefined): boolean => {
    const broken = fields.filter((field) => {
      const fault = faultOf(field);
      field.show(fault);
      return fault !== undefined;
    });
    broken[0]?.control.focus();
    return broken.length > 0;
  };
  const values = (): Record<string, string> =>
    Object.fromEntries(
      fields.map((field) => [field.name, field.value()]).filter(([, value]) => value !== ''),
    );
  return {
    element: h('div', { class: 'fields' }, ...fields.map(({ element }) => element), help),
    read: () => (showAll((field) => field.fault()) ? undefined : values()),
    values,
    showFaults(faults) {
      return showAll(({ name }) => {
        const fault = faults.find(({ field }) => field === `data.${name}`);
        return fault && texts.faults.other(fault.rule);
      });
    },
  };
}

function drawField(name: string, schema: FieldSchema, required: boolean): Field {
  const title = schema.title ?? name;
  const [id, hintId, faultId] = [newId(), newId(), newId()];
  const secret = schema.writeOnly === true;
  const example = schema.examples?.[0];
  const described = [schema.description === undefined ? undefined : hintId, faultId];
  const shared = {
    id,
    name,
    autocomplete: 'off',
    'aria-describedby': described.filter((one) => one !== undefined).join(' '),
    'aria-required': String(required),
  };
  const typed = { ...shared, placeholder: example, autocapitalize: 'none', spellcheck: 'false' };
  const control = schema.enum
    ? drawSelect(schema.enum, shared)
    : schema.contentMediaType
      ? h('textarea', { ...typed, rows: '4', class: secret ? 'masked' : undefined })
      : h('input', { ...typed, type: secret ? 'password' : inputType(schema.format) });
  if (schema.default !== undefined) control.value = schema.default;

  const fault = h('p', { class: 'fault', id: faultId, hidden: true });
  const show = (text: string | undefined): void => {
    fault.hidden = text === undefined;
    fault.replaceChildren(text ?? '');
    control.setAttribute('aria-invalid', String(text !== undefined));
  };
  control.addEventListener('input', () => show(undefined));

  const value = (): string => tidy(control.value, schema);
  return {
    name,
    control,
    value,
    show,
    fault: () => faultOf(value(), { ...schema, title }, required),
    element: h(
      'div',
      { class: 'field' },
      h(
        'label',
        { for: id },
        title,
        required ? undefined : h('span', { class: 'optional' }, ` ${texts.optional}`),
      ),
      h('div', { class: 'control' }, control, secret ? reveal(control, title) : undefined),
      fault,
      schema.description === undefined
        ? undefined
        : h('p', { class: 'hint', id: hintId }, schema.description),
    ),
  };
}

function drawSelect(values: string[], attributes: Record<string, string>): HTMLSelectElement {
  return h(
    'select',
    attributes,
    h('option', { value: '' }, texts.choose),
    ...values.map((value) => h('option', { value }, value)),
  );
}

/** Creates the button that shows and hides the text of a secret field. */
function reveal(control: HTMLElement, title: string): HTMLButtonElement {
  const button = h(
    'button',
    { type: 'button', class: 'reveal', 'aria-label': texts.show(title), 'aria-pressed': 'false' },
    icon('eye'),
  );
  button.addEventListener('click', () => {
    const shown = button.ariaPressed !== 'true';
    button.ariaPressed = String(shown);
    button.ariaLabel = shown ? texts.hide(title) : texts.show(title);
    button.replaceChildren(icon(shown ? 'eyeOff' : 'eye'));
    if (control instanceof HTMLInputElement) control.type = shown ? 'text' : 'password';
    else control.classList.toggle('masked', !shown);
  });
  return button;
}
