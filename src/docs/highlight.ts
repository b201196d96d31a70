import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import http from 'highlight.js/lib/languages/http';
import ini from 'highlight.js/lib/languages/ini';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import nginx from 'highlight.js/lib/languages/nginx';
import sql from 'highlight.js/lib/languages/sql';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';
import { escapeHtml } from '../lib/html.ts';

const LANGUAGES = { bash, http, ini, javascript, json, nginx, sql, typescript, xml, yaml };
const SHORT: Record<string, string> = {
  html: 'xml',
  js: 'javascript',
  sh: 'bash',
  toml: 'ini',
  ts: 'typescript',
  tsx: 'typescript',
  yml: 'yaml',
};

for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);

/** Returns the HTML of code with its tokens marked. Code of an unknown language is only escaped. */
export function highlightCode(code: string, language: string): string {
  const name = SHORT[language] ?? language;
  if (!Object.hasOwn(LANGUAGES, name)) return escapeHtml(code);
  return hljs.highlight(code, { language: name }).value;
}
