import { objectOf, textOf, type JsonObject } from './json-values.ts';

/** Colours of the host that the document takes. A part of them could clash with our own, so it takes all or none. */
const COLOURS = [
  '--color-background-primary',
  '--color-background-secondary',
  '--color-text-primary',
  '--color-text-secondary',
  '--color-border-primary',
];
const FONTS = ['--font-sans', '--font-mono'];

/** Applies the theme, colours, fonts and measures of the host. A later context has only the changed members. */
export function applyContext({
  theme,
  styles,
  displayMode,
  containerDimensions,
  safeAreaInsets,
}: JsonObject): void {
  const { style, dataset } = document.documentElement;
  if (theme === 'light' || theme === 'dark') style.colorScheme = theme;
  const variables = objectOf(objectOf(styles)['variables']);
  const given = COLOURS.every((name) => textOf(variables[name]) !== undefined)
    ? [...COLOURS, ...FONTS]
    : FONTS;
  for (const name of given) {
    const value = textOf(variables[name]);
    if (value !== undefined) style.setProperty(name, value);
  }
  if (typeof displayMode === 'string') dataset['mode'] = displayMode;
  if (containerDimensions !== undefined)
    dataset['height'] = typeof objectOf(containerDimensions)['height'] === 'number' ? 'fixed' : 'free';
  for (const [side, pixels] of Object.entries(objectOf(safeAreaInsets)))
    if (typeof pixels === 'number') style.setProperty(`--inset-${side}`, `${pixels}px`);
}
