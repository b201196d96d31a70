import { isLoopback } from '../lib/addresses.ts';
import type { ConnectorFile } from './format/format.ts';
import { openNames } from './open-names.ts';
import type { SemanticFault } from './semantics/semantic-fault.ts';
import { templateNames } from './templates.ts';

/** Returns the faults of a base address: names that it cannot contain, and a form that no path can follow. */
export function addressFaults(file: ConnectorFile, template: string, path: string): SemanticFault[] {
  const open = openNames(file);
  const faults = templateNames(template)
    .filter((name) => !open.has(name))
    .map((name) => ({ path, rule: `{${name}} is neither a variable nor a field that is not secret` }));
  const sample = sampleAddress(template);
  const rule = /[?#]|\/$/.test(sample) ? 'must end without slash, query and fragment' : undefined;
  const fault = invalidAddress(sample) ?? rule ?? unprotected(sample);
  return fault === undefined ? faults : [...faults, { path, rule: fault }];
}

function sampleAddress(template: string): string {
  return template.replace(/^\{\w+\}/, 'https://example.com').replaceAll(/\{\w+\}/g, 'x');
}

function invalidAddress(address: string): string | undefined {
  if (URL.canParse(address) && /^https?:$/.test(new URL(address).protocol)) return undefined;
  return 'must be an http(s) address once its variables are filled';
}

/**
 * Returns the fault of an address that is plain http beyond this machine. Hosts below .invalid (RFC 6761) are this
 * process itself.
 */
function unprotected(address: string): string | undefined {
  const { protocol, hostname } = new URL(address);
  if (protocol !== 'http:' || isLoopback(hostname) || hostname.endsWith('.invalid')) return undefined;
  return 'must begin with https, because http sends the credential unencrypted';
}

/** Returns the rule that the address of a request breaks; undefined for a valid one. */
export function addressRule(template: string): string | undefined {
  const sample = sampleAddress(template);
  return invalidAddress(sample) ?? unprotected(sample);
}
