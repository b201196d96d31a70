import type { Branding } from './api.ts';

type Colour = [red: number, green: number, blue: number];

/** WCAG 2.2 requires 4.5 (contrast, minimum); a little more, because colours are rounded. */
const CONTRAST = 4.6;
/** A lighter colour gets dark text. A darker one gets white text, and is darkened a little where necessary. */
const PALE = 0.4;
const LIGHT: Colour = [255, 255, 255];
const DARK: Colour = [22, 27, 34];
const BLACK: Colour = [0, 0, 0];

/**
 * Sets the application's colour unchanged, and as text colours that are readable on light and dark ground. It uses the
 * CSSOM, because the page allows no inline style.
 */
export function applyColour({ color }: Branding): void {
  const colour = color === undefined ? undefined : parse(color);
  if (!colour) return;
  const { style } = document.documentElement;
  const pale = luminance(colour) > PALE;
  style.setProperty('--accent', css(pale ? colour : readable(colour, LIGHT, BLACK)));
  style.setProperty('--on-accent', pale ? '#111827' : '#fff');
  style.setProperty('--accent-on-light', css(readable(colour, LIGHT, BLACK)));
  style.setProperty('--accent-on-dark', css(readable(colour, DARK, LIGHT)));
}

/** Returns `colour`, moved towards `towards` until it has enough contrast with `ground`. */
function readable(colour: Colour, ground: Colour, towards: Colour): Colour {
  for (let share = 0; share < 1; share += 0.05) {
    const mixed = mix(colour, towards, share);
    if (contrast(mixed, ground) >= CONTRAST) return mixed;
  }
  return towards;
}

function mix(from: Colour, to: Colour, share: number): Colour {
  const [red, green, blue] = from;
  return [red + (to[0] - red) * share, green + (to[1] - green) * share, blue + (to[2] - blue) * share];
}

function contrast(one: Colour, other: Colour): number {
  const [high = 0, low = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}

function luminance(colour: Colour): number {
  const [red = 0, green = 0, blue = 0] = colour.map((channel) => {
    const share = channel / 255;
    return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function parse(text: string): Colour | undefined {
  const digits = /^#([0-9a-f]{6})$/i.exec(text)?.[1];
  if (digits === undefined) return undefined;
  const number = Number.parseInt(digits, 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}

function css(colour: Colour): string {
  return `rgb(${colour.map(Math.round).join(' ')})`;
}
