const NAME = /\{([a-zA-Z_][a-zA-Z0-9_]*)\}/g;

/** The names that a template asks for, each once. */
export function templateNames(template: string): string[] {
  return [...new Set([...template.matchAll(NAME)].map((match) => match[1] ?? ''))];
}

/** The template with every `{name}` replaced by its value; `value` decides about unknown names. */
export function fillTemplate(template: string, value: (name: string) => string): string {
  return template.includes('{') ? template.replaceAll(NAME, (_, name: string) => value(name)) : template;
}
