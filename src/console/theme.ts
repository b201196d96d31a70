import { createTheme, type CSSVariablesResolver, type MantineColorsTuple } from '@mantine/core';

/** A calm blue-green, dark enough for white text from its shade 7 on. */
const gate: MantineColorsTuple = [
  '#e6f6f7',
  '#d3eaec',
  '#a6d4d8',
  '#75bdc4',
  '#4faab2',
  '#369ea7',
  '#2697a1',
  '#12757e',
  '#0a686f',
  '#00555c',
];

export const theme = createTheme({
  colors: { gate },
  primaryColor: 'gate',
  primaryShade: { light: 7, dark: 7 },
  defaultRadius: 'md',
  cursorType: 'pointer',
  fontFamily:
    'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "Liberation Sans", Arial, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace',
  headings: {
    fontWeight: '650',
    sizes: {
      h1: { fontSize: '1.5rem', lineHeight: '1.3' },
      h2: { fontSize: '1.125rem', lineHeight: '1.4' },
      h3: { fontSize: '1rem', lineHeight: '1.4' },
    },
  },
});

const LIGHT_COLORS = ['gate', 'green', 'red', 'orange', 'yellow', 'gray', 'blue', 'grape'];

/** Darkens the texts of light variants and dimmed texts, which are otherwise below a contrast of 4.5. */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': 'var(--mantine-color-gray-7)',
    '--mantine-color-body': '#fbfcfc',
    '--mantine-color-anchor': 'var(--mantine-color-gate-8)',
    '--mantine-color-placeholder': 'var(--mantine-color-gray-6)',
    '--surface': '#ffffff',
    '--line': 'var(--mantine-color-gray-3)',
    ...Object.fromEntries(
      LIGHT_COLORS.map((name) => [
        `--mantine-color-${name}-light-color`,
        name === 'yellow' || name === 'orange' || name === 'green'
          ? `color-mix(in srgb, var(--mantine-color-${name}-9) 75%, black)`
          : `var(--mantine-color-${name}-9)`,
      ]),
    ),
  },
  dark: {
    '--mantine-color-dimmed': 'var(--mantine-color-dark-1)',
    '--mantine-color-body': '#16191b',
    '--mantine-color-anchor': 'var(--mantine-color-gate-3)',
    '--surface': '#1e2224',
    '--line': '#33383b',
    ...Object.fromEntries(
      LIGHT_COLORS.map((name) => [`--mantine-color-${name}-light-color`, `var(--mantine-color-${name}-2)`]),
    ),
  },
});
