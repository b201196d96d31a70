import type { AppView, Session } from './api.ts';
import { h, icon } from './dom.ts';
import { brandMark } from './frame.ts';
import { texts } from './page-texts.ts';

/* Screens that show a state. Each has one heading, one sentence and the possible actions. */

export interface Action {
  label: string;
  run?: () => void;
  /** Address of a link instead of a button. The link opens next to this page and may answer it. */
  href?: string;
  /** Whether this is not the recommended action. */
  quiet?: boolean;
  /** Whether it removes something. */
  danger?: boolean;
}

interface Statement {
  figure: HTMLElement;
  title: string;
  lead: string;
  /** The first is the recommended one. */
  actions?: Action[];
}

export function drawStatement({ figure, title, lead, actions = [] }: Statement): HTMLElement {
  return h(
    'section',
    { class: 'screen statement' },
    figure,
    h('h1', { tabindex: '-1' }, title),
    h('p', { class: 'lead' }, lead),
    actions.length === 0 ? undefined : h('div', { class: 'actions' }, ...actions.map(drawAction)),
  );
}

/** The result of a change, as a line above a list. */
export interface Notice {
  text: string;
  bad?: boolean;
}

export function drawNotice({ text, bad = false }: Notice): HTMLElement {
  if (!bad) return h('p', { class: 'notice', role: 'status' }, icon('check'), h('span', {}, text));
  return h('p', { class: 'alert notice', role: 'alert' }, icon('warning'), h('span', {}, text));
}

export function drawLoading(label: string, app?: AppView): HTMLElement {
  return h(
    'section',
    { class: 'screen statement' },
    app ? badged(app, 'busy') : h('div', { class: 'figure' }, h('span', { class: 'spinner large' })),
    h('h1', { tabindex: '-1', class: 'quiet-title', role: 'status' }, label),
  );
}

/** Draws the screen in which the user chooses an app. */
export function drawList({ branding }: Session, chooser: HTMLElement): HTMLElement {
  return h(
    'section',
    { class: 'screen' },
    h('h1', { tabindex: '-1' }, texts.chooseTitle),
    h('p', { class: 'lead' }, texts.chooseLead(branding.name)),
    chooser,
  );
}

/** Draws application and app, with a line between them. */
export function pairOf({ branding }: Session, app: AppView): HTMLElement {
  return h(
    'div',
    { class: 'figure pair', 'aria-hidden': 'true' },
    h('span', { class: 'tile' }, brandMark(branding)),
    h('span', { class: 'dots' }, h('i'), h('i'), h('i')),
    h('span', { class: 'tile' }, appIcon(app)),
  );
}

/** Draws the app with a sign of its state; without an app only the sign. */
export function badged(
  app: { iconUrl: string | null } | undefined,
  state: 'busy' | 'good' | 'bad',
): HTMLElement {
  const iconUrl = app?.iconUrl ?? undefined;
  const sign =
    state === 'busy' ? h('span', { class: 'spinner' }) : icon(state === 'good' ? 'check' : 'warning');
  return h(
    'div',
    { class: 'figure', 'aria-hidden': 'true' },
    h(
      'span',
      { class: `tile ${iconUrl === undefined ? 'bare' : ''} ${state}` },
      iconUrl === undefined ? undefined : appIcon({ iconUrl }),
      h('span', { class: 'badge' }, sign),
    ),
  );
}

function appIcon({ iconUrl }: Pick<AppView, 'iconUrl'>): HTMLElement {
  return h('img', { src: iconUrl, alt: '', width: '56', height: '56' });
}

function drawAction({ label, run, href, quiet, danger }: Action, index: number): HTMLElement {
  const first = danger === true ? 'primary danger' : quiet === true ? 'secondary outline' : 'primary';
  const look = index > 0 ? 'secondary' : first;
  if (href === undefined) return h('button', { type: 'button', class: look, onclick: () => run?.() }, label);
  return h(
    'a',
    { class: look, href, target: '_blank', rel: 'opener', onclick: () => run?.() },
    h('span', {}, label),
    icon('outside'),
  );
}

/** Draws the statement that a flow failed. */
export function drawFailure(app: AppView | undefined, lead: string, actions: Action[]): HTMLElement {
  return drawStatement({ figure: badged(app, 'bad'), title: texts.failedTitle, lead, actions });
}
